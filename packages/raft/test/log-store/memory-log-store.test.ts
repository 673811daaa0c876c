import { MemoryLogStore } from '../../src/log-store/memory-log-store.ts';
import { describeLogStore } from './conformance.ts';

describeLogStore('the store in memory', () => {
  let store: MemoryLogStore | undefined;
  return {
    open: async () => {
      store = store?.reopen() ?? new MemoryLogStore();
      return store;
    },
  };
});
