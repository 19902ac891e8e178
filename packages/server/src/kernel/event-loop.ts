/**
 * Finds out what blocked the event loop (docs/adr/0076). Operations and jobs mark where their code begins or goes on;
 * a timer marks that nothing did. Two marks that are far apart are a gap of the loop, and the first one names what
 * most likely caused it. Code without a mark counts for what was marked before it.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** An operation, a job or a step of work: what a gap is counted for. */
export interface Occupant {
  operation: string;
  /** The longest gap that it caused since `takeLongestGap`, in milliseconds. */
  longestGap: number;
}

export interface LoopGap {
  operation: string;
  /** Where its code began: `body`, `handler`, `job`, `step`, `rows of the database`. */
  phase: string;
  milliseconds: number;
}

const gapMilliseconds = 500;
/** Longer than the loop is idle between two marks, and far below a gap. */
const tickMilliseconds = 100;

const occupants = new AsyncLocalStorage<Occupant>();
const nobody: Occupant = { operation: 'other', longestGap: 0 };
let current = nobody;
let currentPhase = '';
let markedAt = 0;
let onGap: ((gap: LoopGap) => void) | undefined;

function mark(occupant: Occupant, phase: string): void {
  if (onGap === undefined) return;
  const now = performance.now();
  const milliseconds = now - markedAt;
  const [before, phaseBefore] = [current, currentPhase];
  [current, currentPhase, markedAt] = [occupant, phase, now];
  if (milliseconds < gapMilliseconds) return;
  before.longestGap = Math.max(before.longestGap, milliseconds);
  onGap({ operation: before.operation, phase: phaseBefore, milliseconds: Math.round(milliseconds) });
}

/** Runs the work, and what it awaits, as this occupant. */
export function occupyLoop<Result>(occupant: Occupant, phase: string, work: () => Result): Result {
  mark(occupant, phase);
  return occupants.run(occupant, work);
}

export function createOccupant(operation: string): Occupant {
  return { operation, longestGap: 0 };
}

/** The code after this belongs to the occupant of the present asynchronous context. */
export function markLoop(phase: string): void {
  if (onGap !== undefined) mark(occupants.getStore() ?? nobody, phase);
}

/** The longest gap that the occupant caused since the last call, in milliseconds; 0 below the length of a gap. */
export function takeLongestGap(occupant: Occupant): number {
  // A gap that has just ended is counted by the next mark.
  markLoop('');
  const { longestGap } = occupant;
  occupant.longestGap = 0;
  return longestGap;
}

/** Reports gaps, one watcher for each process, until `stop` is called. */
export function watchLoop(report: (gap: LoopGap) => void): { stop(): void } {
  [current, currentPhase, markedAt] = [nobody, '', performance.now()];
  onGap = report;
  const timer = setInterval(() => mark(nobody, ''), tickMilliseconds).unref();
  return {
    stop() {
      clearInterval(timer);
      onGap = undefined;
    },
  };
}

const sliceMilliseconds = 10;

/** For work in slices: the function gives others a turn of the loop if the slice has taken 10 ms. */
export function createSlices(): () => Promise<void> {
  let began = performance.now();
  return async () => {
    if (performance.now() - began < sliceMilliseconds) return;
    await nextTurn();
    markLoop('slice');
    began = performance.now();
  };
}
