/**
 * The server of the time fuzz, in a process of its own with all periodic jobs. It makes the requests of the
 * examples, and tells how long its event loop was held: in processor time, which other load does not change, and
 * by the clock.
 */
import { operations } from '@headgate/contract';
import { startSweeper } from '../../packages/server/src/main/sweeper.ts';
import { createTestDatabase } from '../../packages/server/testing/database.ts';
import { examples, takesPlaceAway } from '../../packages/server/testing/guards.ts';
import { openTestServer } from '../../packages/server/testing/open-server.ts';
import { createPlace, type Place } from '../../packages/server/testing/place.ts';
import type { Template } from './slots.ts';

export type Question =
  | { kind: 'round' }
  | { kind: 'template'; operationId: string }
  | { kind: 'gap' }
  | { kind: 'place' }
  | { kind: 'hold'; milliseconds: number };

export interface Gap {
  /** The longest time without a turn of the loop since the last question. */
  milliseconds: number;
  /** The processor time of the main thread in it. */
  processorMilliseconds: number;
}

/** A project of an account of its own. */
export interface OwnPlace {
  /** `/dpc/v1/projects/{projectId}` */
  path: string;
  projectId: string;
  token: string;
}

const tickMilliseconds = 5;

const database = await createTestDatabase();
const server = await openTestServer(database, {
  settings: { HEADGATE_LOG_LEVEL: 'error', ...JSON.parse(process.env.TIME_FUZZ_SETTINGS ?? '{}') },
});
// The clock of a test server stands still, but leases must pass.
const clock = setInterval(() => server.clock.advance(1), 1_000);
const port = Number(new URL(await server.listen()).port);
const sweeper = startSweeper(server.deps);
let account = await server.account();
let place: Place | undefined;

let longest: Gap = { milliseconds: 0, processorMilliseconds: 0 };
let seenAt = performance.now();
let used = process.threadCpuUsage();
function tick(): void {
  const [now, usage] = [performance.now(), process.threadCpuUsage()];
  const processorMilliseconds = (usage.user + usage.system - used.user - used.system) / 1_000;
  longest = {
    milliseconds: Math.max(longest.milliseconds, now - seenAt),
    processorMilliseconds: Math.max(longest.processorMilliseconds, processorMilliseconds),
  };
  [seenAt, used] = [now, usage];
}

const ticks = setInterval(tick, tickMilliseconds);

async function makeTemplate(operationId: string): Promise<Template> {
  const operation = operations.find(({ id }) => id === operationId);
  const make = examples[operationId];
  if (operation === undefined || make === undefined) throw new Error(`no example of ${operationId}`);
  place ??= await createPlace(account);
  const at = place;
  // The next operation gets another place.
  if (takesPlaceAway(operation)) place = undefined;
  const { path, headers = {}, body, parts } = await make(at);
  return {
    method: operation.method,
    url: `/dpc/v1${path}`,
    headers: {
      authorization: `Bearer ${await at.account.admin.token()}`,
      ...Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
    },
    ...(parts === undefined
      ? { body }
      : { parts: parts.map(({ name, content }) => ({ name, content: String(content) })) }),
  };
}

async function answer(question: Question): Promise<unknown> {
  switch (question.kind) {
    case 'round':
      // What another round has created may be the most that an account may have.
      account = await server.account();
      place = undefined;
      return null;
    case 'template':
      return makeTemplate(question.operationId);
    case 'gap': {
      tick();
      const gap = longest;
      longest = { milliseconds: 0, processorMilliseconds: 0 };
      return gap;
    }
    case 'hold': {
      const until = process.threadCpuUsage().user / 1_000 + question.milliseconds;
      while (process.threadCpuUsage().user / 1_000 < until);
      return null;
    }
    case 'place': {
      const { project, account } = await createPlace(await server.account());
      return {
        path: `/dpc/v1${project.path}`,
        projectId: project.projectId,
        token: await account.admin.token(),
      } satisfies OwnPlace;
    }
  }
}

process.on('message', (question: Question) => {
  answer(question).then(
    (value) => process.send?.({ value: value ?? null }),
    (failure: unknown) => process.send?.({ failure: String(failure) }),
  );
});
process.on('disconnect', () => {
  clearInterval(ticks);
  clearInterval(clock);
  sweeper
    .stop()
    .then(() => server.close())
    .then(() => database.drop())
    .finally(() => process.exit(0));
});
process.send?.({ port, pid: process.pid });
