/**
 * Random requests, valid and invalid, at every operation of the OpenAPI document, each answer held to the document. The same seed makes
 * the same requests; only the ids of the world differ.
 */
import fc from 'fast-check';
import { watchChanges } from '../../packages/server/src/testing/changes.ts';
import { createTestDatabase } from '../../packages/server/src/testing/database.ts';
import { openTestServer } from '../../packages/server/src/testing/open-server.ts';
import type { Draft } from './draft.ts';
import { draft } from './generation.ts';
import { faultsOf } from './judgement.ts';
import { sender } from './sending.ts';
import { createWorld, type World } from './world.ts';

export interface FuzzOrder {
  requests: number;
  seed: number;
  /** Of a counterexample, as a failure prints it: only that one is sent. */
  path?: string;
  /** After so long it ends with what it has found. */
  milliseconds?: number;
  /** Told from time to time how many were sent. */
  progress?: (sent: number) => void;
}

export interface FuzzResult {
  /** The requests sent, by the status of their answers. */
  statuses: Record<number, number>;
  asked: Set<string>;
  /** The first finding, made as small as it was possible; undefined when there is none. */
  finding: string | undefined;
}

/** A world lasts for so many requests: lists stay short, and what was deleted is there again. */
const requestsOfAWorld = 500;
const requestsBetweenProgress = 10_000;

export async function fuzz({ requests, seed, path, milliseconds, progress }: FuzzOrder): Promise<FuzzResult> {
  const database = await createTestDatabase();
  // A limit that is never reached: answers tell what is left of it.
  const server = await openTestServer(database, { settings: { HEADGATE_RATE_LIMIT: '1000000000' } });
  const port = Number(new URL(await server.listen()).port);
  const changes = await watchChanges(database);
  const { send, close } = sender(port);
  const statuses: Record<number, number> = {};
  const asked = new Set<string>();
  let world: World | undefined;
  let left = 0;
  let sent = 0;
  let linesRead = 0;

  async function judge(one: Draft): Promise<void> {
    if (world === undefined || left-- <= 0) {
      world = await createWorld(server);
      left = requestsOfAWorld;
      await changes.take();
    }
    const wire = world.wireOf(one);
    const answer = await send(wire);
    const changed = await changes.take();
    statuses[answer.status] = (statuses[answer.status] ?? 0) + 1;
    asked.add(one.operationId);
    sent += 1;
    if (sent % requestsBetweenProgress === 0) progress?.(sent);
    const faults = faultsOf({ draft: one, wire, answer, changed, secrets: world.secrets });
    for (; linesRead < server.logLines.length; linesRead++)
      faults.push(...leaksIn(server.logLines[linesRead] ?? '', world.secrets));
    const told = `${faults.join('\n')}\nin the answer ${answer.status} ${answer.text.slice(0, 2_000)}\nto ${wire.method} ${wire.url.slice(0, 2_000)}`;
    if (faults.length > 0) throw new Error(told);
    // Deleted, it would only be not found any more.
    if (answer.status === 204 && /^(deleteProject|deleteEnvironment)$/.test(one.operationId))
      world = undefined;
  }

  try {
    const property = fc.asyncProperty(draft, judge);
    const details = await fc.check(property, {
      numRuns: requests,
      seed,
      ...(path === undefined ? {} : { path }),
      ...(milliseconds === undefined ? {} : { interruptAfterTimeLimit: milliseconds }),
    });
    const finding = details.failed ? await wordsOf(details) : undefined;
    return { statuses, asked, finding };
  } finally {
    close();
    await server.close();
    await database.drop();
  }
}

async function wordsOf(details: fc.RunDetails<[Draft]>): Promise<string> {
  const { errorInstance: error } = details;
  return `${error instanceof Error ? error.message : error}\n${await fc.asyncDefaultReportMessage(details)}`;
}

function leaksIn(line: string, secrets: ReadonlyMap<string, string>): string[] {
  return [...secrets].filter(([, secret]) => line.includes(secret)).map(([name]) => `the log shows ${name}`);
}
