import { describe, expect, it } from 'vitest';
import { Floors, type NameAt } from '../../src/cache/floors.js';
import { activity, message, tenant } from './cache-fixture.js';

function name(number: number, hash = number): NameAt {
  return { hash, tenantBytes: tenant(1), tenantAt: 0, messageBytes: message(number), messageAt: 0 };
}

describe('Floors', () => {
  it('keeps the higher revision and the higher version, each for itself', () => {
    const floors = new Floors(10, 1000);
    floors.raise(name(1), { activityId: activity(5), summaryVersion: 2n }, 0);
    floors.raise(name(1), { activityId: activity(4), summaryVersion: 3n }, 0);
    expect(floors.floorOf(name(1))).toMatchObject({ activityId: activity(5), summaryVersion: 3n });
    floors.raise(name(1), { activityId: undefined, summaryVersion: 1n }, 0);
    floors.raise(name(1), { activityId: activity(6), summaryVersion: 0n }, 0);
    expect(floors.floorOf(name(1))).toMatchObject({ activityId: activity(6), summaryVersion: 3n });
  });

  it('owns its bytes: a reused buffer does not change a floor', () => {
    const floors = new Floors(10, 1000);
    const id = activity(5);
    floors.raise(name(1), { activityId: id, summaryVersion: 0n }, 0);
    id.fill(0);
    expect(floors.floorOf(name(1))?.activityId).toEqual(activity(5));
  });

  it('tells messages of one hash apart', () => {
    const floors = new Floors(10, 1000);
    floors.raise(name(1, 77), { activityId: activity(5), summaryVersion: 0n }, 0);
    expect(floors.floorOf(name(2, 77))).toBeUndefined();
    floors.settle(name(2, 77));
    expect(floors.size).toBe(1);
  });

  it('that has done its work stays for the table’s age, once, however long its own was', () => {
    const floors = new Floors(10, 1000);
    floors.raise(name(1), { activityId: activity(5), summaryVersion: 0n }, 0, 50_000);
    floors.sweep(100);
    floors.settle(name(1));
    floors.sweep(900);
    floors.settle(name(1));
    expect(floors.floorOf(name(1))).toBeDefined();
    floors.sweep(1100);
    expect(floors.floorOf(name(1))).toBeUndefined();
    expect(floors.size).toBe(0);
  });

  it('raised again after its work was done has its age anew', () => {
    const floors = new Floors(10, 1000);
    floors.raise(name(1), { activityId: activity(5), summaryVersion: 0n }, 0);
    floors.settle(name(1));
    floors.raise(name(1), { activityId: activity(6), summaryVersion: 0n }, 800);
    floors.sweep(1700);
    expect(floors.floorOf(name(1))).toMatchObject({ activityId: activity(6) });
    floors.settle(name(1));
    floors.sweep(2699);
    expect(floors.floorOf(name(1))).toBeDefined();
  });

  it('of a recall stays one of a recall, whatever is raised after it', () => {
    const floors = new Floors(10, 1000);
    floors.raise(name(1), { activityId: activity(5), summaryVersion: 0n, recalled: true }, 0, 5000);
    floors.raise(name(1), { activityId: activity(9), summaryVersion: 0n }, 1);
    expect(floors.floorOf(name(1))).toMatchObject({ activityId: activity(9), recalled: true });
  });

  it('lets no floor count after its age, however many are waiting to be swept', () => {
    const floors = new Floors(10_000, 1000);
    for (let number = 0; number < 5_000; number++) {
      floors.raise(name(number), { activityId: activity(5), summaryVersion: 0n }, 0);
    }
    floors.sweep(1000);
    expect(floors.size).toBeGreaterThan(0);
    expect(floors.floorOf(name(4_999))).toBeUndefined();
  });

  it('counts the age from the last raise', () => {
    const floors = new Floors(10, 1000);
    floors.raise(name(1), { activityId: activity(5), summaryVersion: 0n }, 0);
    floors.raise(name(2), { activityId: activity(5), summaryVersion: 0n }, 100);
    floors.raise(name(1), { activityId: activity(5), summaryVersion: 0n }, 500);
    floors.sweep(1100);
    expect(floors.floorOf(name(2))).toBeUndefined();
    expect(floors.floorOf(name(1))).toBeDefined();
    floors.sweep(1500);
    expect(floors.size).toBe(0);
  });

  it('sweeps a bounded number at a time', () => {
    const floors = new Floors(1000, 10);
    for (let number = 0; number < 200; number++) {
      floors.raise(name(number), { activityId: undefined, summaryVersion: 1n }, 0);
    }
    floors.sweep(10);
    expect(floors.size).toBeGreaterThan(100);
    for (let round = 0; round < 4; round++) floors.sweep(10);
    expect(floors.size).toBe(0);
  });

  it('a full table still raises the floors that it has', () => {
    const floors = new Floors(1, 1000);
    floors.raise(name(1), { activityId: activity(1), summaryVersion: 0n }, 0);
    floors.raise(name(1), { activityId: activity(2), summaryVersion: 0n }, 0);
    expect(floors.floorOf(name(1))).toMatchObject({ activityId: activity(2) });
  });

  it('one with an age of its own stays until then, whatever the age of floors', () => {
    const floors = new Floors(10, 1000);
    floors.raise(name(1), { activityId: activity(1), summaryVersion: 0n }, 0, 2500);
    floors.raise(name(2), { activityId: activity(1), summaryVersion: 0n }, 1);
    for (const nowMs of [1000, 2000, 2499]) floors.sweep(nowMs);
    expect(floors.floorOf(name(1))).toBeDefined();
    expect(floors.size).toBe(1);
    floors.sweep(3000);
    expect(floors.size).toBe(0);
  });

  it('in a full table a recall’s takes the place of an ordinary one, however many recalls are older', () => {
    const floors = new Floors(200, 1000);
    const floor = { activityId: activity(1), summaryVersion: 0n };
    for (let number = 0; number < 199; number++) floors.raise(name(number), floor, 0, 5000);
    floors.raise(name(199), floor, 0);
    floors.raise(name(200), floor, 0, 5000);
    expect(floors.floorOf(name(200))).toBeDefined();
    expect(floors.floorOf(name(199))).toBeUndefined();
  });

  it('in a full table one with an age of its own takes the place of an ordinary one, and caching pauses', () => {
    const floors = new Floors(2, 1000);
    floors.raise(name(1), { activityId: activity(1), summaryVersion: 0n }, 0, 5000);
    floors.raise(name(2), { activityId: activity(1), summaryVersion: 0n }, 0);
    floors.raise(name(3), { activityId: activity(1), summaryVersion: 0n }, 0, 5000);
    expect(floors.floorOf(name(2))).toBeUndefined();
    expect(floors.floorOf(name(3))).toBeDefined();
    floors.raise(name(4), { activityId: activity(1), summaryVersion: 0n }, 0, 5000);
    expect(floors.floorOf(name(4))).toBeUndefined();
    expect(floors.size).toBe(2);
    floors.settle(name(1));
    expect(floors.paused).toBe(true);
    floors.sweep(999);
    expect(floors.paused).toBe(true);
    floors.sweep(1000);
    expect(floors.paused).toBe(false);
  });
});
