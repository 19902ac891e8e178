/**
 * Sends valid and invalid random requests to every operation of the OpenAPI document, and compares each
 * response with the document. The same seed makes the same requests, except for ids.
 */
import fc from 'fast-check';
import { watchChanges } from '../../packages/server/testing/changes.ts';
import { createTestDatabase } from '../../packages/server/testing/database.ts';
import { openTestServer } from '../../packages/server/testing/open-server.ts';
import { operations } from './document.ts';
import type { Draft } from './draft.ts';
import { draft, draftOf, rare } from './generation.ts';
import { faultsOf } from './judgement.ts';
import { sender } from './sending.ts';
import { createWorld, type World } from './world.ts';

export interface FuzzOrder {
  requests: number;
  seed: number;
  /** The path of a counterexample, as a failure prints it. Only that request is sent. */
  path?: string;
  /** Ends after this time. */
  milliseconds?: number;
  /** Called with the number of sent requests from time to time. */
  progress?: (sent: number) => void;
}

export interface FuzzResult {
  /** The number of requests by the status of their responses. */
  statuses: Record<number, number>;
  asked: Set<string>;
  /** The first finding, as small as possible; undefined if there is none. */
  finding: string | undefined;
}

/** A new world after this many requests keeps lists short and restores deleted resources. */
const requestsOfAWorld = 500;
const requestsBetweenProgress = 10_000;

export async function fuzz({ requests, seed, path, milliseconds, progress }: FuzzOrder): Promise<FuzzResult> {
  const database = await createTestDatabase();
  // So high that it is never reached, but responses contain the headers of the limit.
  const server = await openTestServer(database, {
    settings: { HEADGATE_RATE_LIMIT: '1000000000' },
    // Random claims find nothing.
    config: { claimWaitSeconds: 1 },
  });
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
    if (faults.length > 0) {
      const response = `in the response ${answer.status} ${answer.text.slice(0, 2_000)}`;
      throw new Error(`${faults.join('\n')}\n${response}\nto ${wire.method} ${wire.url.slice(0, 2_000)}`);
    }
    // In a deleted project or environment all later requests would be 404.
    if (answer.status === 204 && /^(deleteProject|deleteEnvironment)$/.test(one.operationId))
      world = undefined;
  }

  /** Chance leaves some operations out of a short run. */
  async function askTheOthers(): Promise<string | undefined> {
    if (path !== undefined || requests < operations.length) return undefined;
    for (const operation of operations) {
      if (asked.has(operation.id) || rare.includes(operation.id)) continue;
      const details = await fc.check(fc.asyncProperty(draftOf(operation), judge), { numRuns: 1, seed });
      if (details.failed) return await describeFailure(details);
    }
    return undefined;
  }

  try {
    const property = fc.asyncProperty(draft, judge);
    const details = await fc.check(property, {
      numRuns: requests,
      seed,
      ...(path === undefined ? {} : { path }),
      ...(milliseconds === undefined ? {} : { interruptAfterTimeLimit: milliseconds }),
    });
    const finding = details.failed ? await describeFailure(details) : await askTheOthers();
    return { statuses, asked, finding };
  } finally {
    close();
    await server.close();
    await database.drop();
  }
}

async function describeFailure(details: fc.RunDetails<[Draft]>): Promise<string> {
  const { errorInstance: error } = details;
  return `${error instanceof Error ? error.message : error}\n${await fc.asyncDefaultReportMessage(details)}`;
}

function leaksIn(line: string, secrets: ReadonlyMap<string, string>): string[] {
  return [...secrets].filter(([, secret]) => line.includes(secret)).map(([name]) => `the log shows ${name}`);
}
