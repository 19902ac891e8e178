/** Does the runs that the agent sends to this process, one after the other. */
import { compileQuickJs, createQuickJsLender } from '@headgate/pipelines';
import type { RunCaches } from '../ports/run-caches.ts';
import type { ArtifactIndex, FromRun, RunStart, ToRun } from '../ports/run-messages.ts';
import { freezeBuiltIns } from './frozen-built-ins.ts';
import { gatherMessages } from './gathered-messages.ts';
import { watchLeftovers } from './leftovers.ts';
import { createRunningRun, type RunningRun } from './running-run.ts';

/** @param onStart called at the start of each run, for tests */
export async function listenForRuns(
  caches: RunCaches,
  onStart: (start: RunStart, run: number) => void = () => undefined,
): Promise<void> {
  const quickJs = createQuickJsLender();
  const indexes = new Map<string, ArtifactIndex>();
  let current: RunningRun | undefined;

  function write(message: FromRun): void {
    if (process.connected) process.send?.(message, undefined, undefined, () => undefined);
  }
  const messages = gatherMessages(write);
  const { send } = messages;

  await compileQuickJs();
  // The declared types are older than this function.
  const permission = process.permission as unknown as { drop?(scope: string): void } | undefined;
  permission?.drop?.('fs.read');
  const leftovers = watchLeftovers();
  freezeBuiltIns();

  async function start(message: Extract<ToRun, { type: 'start' }>): Promise<void> {
    const { run } = message;
    if (message.forget === true) indexes.clear();
    for (const { digest, index } of message.start.artifacts)
      if (index !== undefined) indexes.set(digest, index);
    const running = createRunningRun(message, {
      createQuickJs: quickJs.lend,
      caches: caches,
      indexes,
      messages,
    });
    current = running;
    const alive = leftovers.keep(setInterval(() => send({ type: 'alive', run }), 1_000).unref());
    onStart(message.start, run);
    const { outcome, faults } = await running.run();
    clearInterval(alive);
    current = undefined;
    send({ type: 'finished', run, outcome, faults: [...faults, ...leftovers.take()] });
    // The next start is read after this.
    quickJs.wipe();
  }

  process.on('disconnect', () => process.exit(1));
  process.on('message', (message: ToRun) => {
    if (message.type === 'start') void start(message);
    else if (message.run === current?.number) current.receive(message);
  });
  send({ type: 'ready' });
}
