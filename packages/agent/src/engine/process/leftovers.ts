/**
 * Finds what a run left in its process: timers, open handles, changed globals. The engine leaves none; this is
 * the proof, after each run, that the process may do another one.
 */

/** Resources that are open in a process between runs: the channel to the agent, and its output. */
const ownResources: ReadonlySet<string> = new Set(['PipeWrap', 'TTYWrap', 'TickObject', 'Immediate']);

/** Globals that no part of a run uses: they reach outside, or keep something. Some load a part of Node.js. */
const unused = [
  'fetch',
  'FormData',
  'Headers',
  'Request',
  'Response',
  'MessageEvent',
  'WebSocket',
  'CloseEvent',
  'EventSource',
  'BroadcastChannel',
  'MessageChannel',
  'MessagePort',
  'Storage',
  'localStorage',
  'sessionStorage',
  'Navigator',
  'navigator',
];

export interface Leftovers {
  /** A timer that is not the run's. */
  keep<Timer extends NodeJS.Timeout>(timer: Timer): Timer;
  /** Removes what was left, where possible. Returns a description of each thing. */
  take(): string[];
}

/** Called once, when the code is loaded. No global can be added from now on. */
export function watchLeftovers(): Leftovers {
  const timers = watchTimers();
  for (const name of unused) Reflect.deleteProperty(globalThis, name);
  Object.preventExtensions(globalThis);
  const globals = describeGlobals();
  return {
    keep: timers.keep,
    take() {
      const found = timers.clear();
      const now = describeGlobals();
      if (now.some((each, index) => !Object.is(each, globals[index]))) found.push('a changed global');
      const open = process.getActiveResourcesInfo().filter((name) => !ownResources.has(name));
      if (open.length > 0) found.push(`open resources (${[...new Set(open)].join(', ')})`);
      return found;
    },
  };
}

/** Values and getters of all globals. A getter is not called, because it may load a part of Node.js. */
function describeGlobals(): unknown[] {
  return Reflect.ownKeys(globalThis).flatMap((key) => {
    const { value, get, set } = Object.getOwnPropertyDescriptor(globalThis, key) ?? {};
    return [key, value, get, set];
  });
}

/** Replaces the global functions for timers by ones that remember their timers. */
function watchTimers() {
  const open = new Set<NodeJS.Timeout | NodeJS.Immediate>();
  const { setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate } = globalThis;
  const watched = {
    setTimeout(call: (...inputs: unknown[]) => void, milliseconds?: number, ...inputs: unknown[]) {
      const timer = setTimeout(() => {
        open.delete(timer);
        call(...inputs);
      }, milliseconds);
      open.add(timer);
      return timer;
    },
    setInterval(call: (...inputs: unknown[]) => void, milliseconds?: number, ...inputs: unknown[]) {
      const timer = setInterval(call, milliseconds, ...inputs);
      open.add(timer);
      return timer;
    },
    setImmediate(call: (...inputs: unknown[]) => void, ...inputs: unknown[]) {
      const timer = setImmediate(() => {
        open.delete(timer);
        call(...inputs);
      });
      open.add(timer);
      return timer;
    },
    clearTimeout(timer?: NodeJS.Timeout) {
      if (timer !== undefined) open.delete(timer);
      clearTimeout(timer);
    },
    clearInterval(timer?: NodeJS.Timeout) {
      if (timer !== undefined) open.delete(timer);
      clearInterval(timer);
    },
    clearImmediate(timer?: NodeJS.Immediate) {
      if (timer !== undefined) open.delete(timer);
      clearImmediate(timer);
    },
  };
  Object.assign(globalThis, watched);
  return {
    keep<Timer extends NodeJS.Timeout>(timer: Timer): Timer {
      open.delete(timer);
      return timer;
    },
    clear(): string[] {
      if (open.size === 0) return [];
      const count = open.size;
      for (const timer of open) {
        clearTimeout(timer as NodeJS.Timeout);
        clearImmediate(timer as NodeJS.Immediate);
      }
      open.clear();
      return [`${count} timers`];
    },
  };
}
