/**
 * The places for scripts. Projects take turns, and in each its environments. One environment holds at most its
 * share of the places, whether or not others wait, so that sleeping scripts of one do not block the others. One
 * project holds at most three quarters, and leaves one place of two or more. ADR 0077.
 */
import type { EnvironmentPlace } from '../host/folders.ts';

export interface ScriptPlace extends EnvironmentPlace {
  /** In percent of the places. Undefined, of an older server: half. */
  share?: number | undefined;
}

const defaultShare = 50;
const projectShare = 75;

interface Waiting {
  place: ScriptPlace;
  project: string;
  environment: string;
  enter(): void;
}

/** Resolves with what frees the place; rejects with the reason of `kill` if that is aborted before. */
export type EnterScript = (place: ScriptPlace, kill: AbortSignal) => Promise<() => void>;

export function createScriptTurns(places: number): EnterScript {
  let free = places;
  let lastTurn = 0;
  /** In the order of their arrival. */
  const waiting: Waiting[] = [];
  /** By project, and by environment. */
  const held = new Map<string, number>();
  /** When a project or an environment had its last turn. */
  const turns = new Map<string, number>();

  const countShare = (percent: number) => Math.max(1, Math.ceil((places * percent) / 100));

  function isWithinShare({ place, project, environment }: Waiting): boolean {
    const { share = defaultShare } = place;
    if ((held.get(environment) ?? 0) >= countShare(share)) return false;
    if (share === 100) return true;
    const most = Math.min(countShare(Math.max(share, projectShare)), Math.max(1, places - 1));
    return (held.get(project) ?? 0) < most;
  }

  /** The one whose project, and then environment, had its turn longest ago. */
  function findNext(): Waiting | undefined {
    const ready = waiting.filter(isWithinShare);
    const turnOf = (name: string) => turns.get(name) ?? 0;
    const [first] = ready.toSorted(
      (a, b) => turnOf(a.project) - turnOf(b.project) || turnOf(a.environment) - turnOf(b.environment),
    );
    return first;
  }

  function fill(): void {
    while (free > 0) {
      const next = findNext();
      if (next === undefined) break;
      waiting.splice(waiting.indexOf(next), 1);
      free -= 1;
      lastTurn += 1;
      turns.set(next.project, lastTurn).set(next.environment, lastTurn);
      for (const name of [next.project, next.environment]) held.set(name, (held.get(name) ?? 0) + 1);
      next.enter();
    }
  }

  function leave({ project, environment }: Waiting): void {
    free += 1;
    for (const name of [project, environment]) {
      const left = (held.get(name) ?? 0) - 1;
      if (left > 0) held.set(name, left);
      else held.delete(name);
    }
    fill();
    if (held.size === 0) turns.clear();
  }

  return async (place, kill) => {
    kill.throwIfAborted();
    const project = place.projectId;
    const environment = `${project}/${place.environmentName}`;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const one: Waiting = { place, project, environment, enter: resolve };
    const giveUp = () => {
      const index = waiting.indexOf(one);
      if (index >= 0) waiting.splice(index, 1);
      reject(kill.reason);
    };
    kill.addEventListener('abort', giveUp, { once: true });
    waiting.push(one);
    fill();
    await promise.finally(() => kill.removeEventListener('abort', giveUp));
    return () => leave(one);
  };
}
