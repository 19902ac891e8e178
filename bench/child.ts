/** Child processes of the benchmark. They report when they are ready, and always end with it. */
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const readyWithinMilliseconds = 20_000;
const endWithinMilliseconds = 3_000;

export interface Child {
  pid: number;
  /** Sends a message and returns the next one that arrives. */
  ask(message: object | string): Promise<unknown>;
  stop(): Promise<void>;
}

/** Forks a module. Its first message, `first`, says that it is ready. */
export async function startChild(
  module: URL,
  settings: Record<string, string> = {},
  { readyWithin = readyWithinMilliseconds, endWithin = endWithinMilliseconds, ownSession = false } = {},
): Promise<Child & { first: unknown }> {
  const child = fork(fileURLToPath(module), [], {
    env: { ...process.env, ...settings },
    // Without the module that the bootstrap preloads: it uses descriptor 3, which is the channel of this
    // child.
    execArgv: process.execArgv.filter(
      (arg, index, all) => arg !== '--require' && all[index - 1] !== '--require',
    ),
    serialization: 'advanced',
    detached: ownSession,
  });
  const end = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const late = setTimeout(() => child.kill('SIGKILL'), readyWithin);
  const first = await nextMessage(child).finally(() => clearTimeout(late));
  return {
    first,
    pid: child.pid ?? 0,
    ask(message) {
      child.send(message);
      return nextMessage(child);
    },
    async stop() {
      const late = setTimeout(() => child.kill('SIGKILL'), endWithin);
      if (child.connected) child.disconnect();
      await end;
      clearTimeout(late);
    },
  };
}

function nextMessage(child: ChildProcess): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const onExit = (code: number | null) =>
    reject(new Error(`A process of the benchmark ended with code ${code}.`));
  child.once('exit', onExit);
  child.once('message', (message) => {
    child.off('exit', onExit);
    resolve(message);
  });
  return promise;
}
