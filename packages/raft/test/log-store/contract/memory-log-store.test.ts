import { MemoryLogStore } from '../../../src/log-store/contract/memory-log-store.ts';
import { describeLogStore } from './conformance.ts';

describeLogStore('the store in memory', (test) => {
  let store: MemoryLogStore | undefined;
  return test({
    open: async () => {
      store = store?.reopen() ?? new MemoryLogStore();
      return store;
    },
  });
});
