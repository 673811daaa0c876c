import { SimWorld } from '@holdfast/runtime/sim';
import { describe, expect, it } from 'vitest';
import { TurnSchedule } from '../../src/driver/turn-schedule.ts';

class Scene {
  readonly world = new SimWorld({ seed: 1 });
  readonly turnsAtMs: number[] = [];
  readonly failures: unknown[] = [];
  deadlineMs = Infinity;
  work = 0;
  turn = (): void => {};
  readonly clock = this.world.host('server').runtime.clock;
  readonly beganMs = this.clock.monotonicMs();
  readonly schedule = new TurnSchedule({
    clock: this.clock,
    deadline: () => this.deadlineMs,
    turn: () => {
      this.turnsAtMs.push(this.clock.monotonicMs() - this.beganMs);
      this.turn();
    },
    hasWork: () => this.work > 0,
    failed: (error) => this.failures.push(error),
  });

  async run(forMs: number): Promise<void> {
    await this.world.run({ forMs });
  }

  in(ms: number): number {
    return this.clock.monotonicMs() + ms;
  }
}

describe('turns', () => {
  it('are one for everything that has asked meanwhile', async () => {
    const scene = new Scene();
    scene.schedule.start();
    scene.schedule.wake();
    scene.schedule.wake();
    expect(scene.turnsAtMs).toEqual([]);
    await scene.run(1);
    expect(scene.turnsAtMs).toHaveLength(1);
  });

  it('follow one another while there is work, and what asks within a turn makes none by itself', async () => {
    const scene = new Scene();
    scene.work = 3;
    scene.turn = () => {
      scene.work -= 1;
      scene.schedule.wake();
    };
    scene.schedule.start();
    await scene.run(1);
    expect(scene.turnsAtMs).toHaveLength(3);
  });

  it('come at the deadline though nothing asks', async () => {
    const scene = new Scene();
    scene.deadlineMs = scene.in(50);
    scene.turn = () => (scene.deadlineMs = scene.in(50));
    scene.schedule.start();
    await scene.run(120);
    expect(scene.turnsAtMs).toHaveLength(3);
  });

  it('do not come for a deadline that has moved on', async () => {
    const scene = new Scene();
    scene.deadlineMs = scene.in(50);
    scene.schedule.start();
    await scene.run(20);
    scene.deadlineMs = scene.in(60);
    scene.turn = () => (scene.deadlineMs = Infinity);
    await scene.run(50);
    expect(scene.turnsAtMs).toHaveLength(1);
    await scene.run(20);
    expect(scene.turnsAtMs).toHaveLength(2);
  });

  it('are not taken before the start and after the stop', async () => {
    const scene = new Scene();
    scene.schedule.wake();
    await scene.run(1);
    scene.deadlineMs = scene.in(50);
    scene.schedule.start();
    await scene.run(1);
    scene.schedule.wake();
    scene.schedule.stop();
    await scene.run(100);
    expect(scene.turnsAtMs).toHaveLength(1);
  });

  it('report what breaks in them', async () => {
    const scene = new Scene();
    const broken = new Error('broken');
    scene.turn = () => {
      throw broken;
    };
    scene.schedule.start();
    await scene.run(1);
    expect(scene.failures).toEqual([broken]);
  });
});
