/** Two servers under the same load in turn: A B A B …, so that what else the machine does falls on both. */
import { median, spread } from './finding.ts';
import type { LoadGenerator } from './load.ts';
import type { LoadResult } from './load-process.ts';
import { postgresSeconds, processorSeconds } from './processor-time.ts';

export interface Side {
  name: string;
  port: number;
  pid: number;
  requests: readonly string[];
  /** What makes the server this side, when both are one server. */
  before?: () => Promise<void>;
}

export interface ComparisonSettings {
  rounds: number;
  /** Of one side in one round. */
  milliseconds: number;
  connections: number;
  /** Of the server whose PostgreSQL both sides use. */
  dataDirectory: string;
}

const warmUpMilliseconds = 3_000;

/** Answers a second of the first against those of the second, a number for each round. */
export async function compare(
  load: LoadGenerator,
  sides: readonly [Side, Side],
  settings: ComparisonSettings,
): Promise<number[]> {
  const { connections } = settings;
  const measured: [Measured[], Measured[]] = [[], []];
  for (const side of sides) await warmUp(load, side, connections);
  for (let round = 0; round < settings.rounds; round++) {
    measured[0].push(await measure(load, sides[0], settings));
    measured[1].push(await measure(load, sides[1], settings));
  }
  sides.forEach((side, index) => {
    tell(side, measured[index as 0 | 1]);
  });
  return measured[0].map(({ rate }, round) => rate / (measured[1][round]?.rate ?? Number.NaN));
}

async function warmUp(
  load: LoadGenerator,
  { before, port, requests }: Side,
  connections: number,
): Promise<void> {
  await before?.();
  await load.run({ port, requests, connections, milliseconds: warmUpMilliseconds });
}

interface Measured {
  rate: number;
  /** Of processor time an answer, in microseconds. */
  serverCost: number;
  postgresCost: number;
  /** 1 is a whole core. */
  generatorCores: number;
}

async function measure(
  load: LoadGenerator,
  { port, pid, requests, before: prepare }: Side,
  { connections, milliseconds, dataDirectory }: ComparisonSettings,
): Promise<Measured> {
  await prepare?.();
  const before = { server: processorSeconds(pid), postgres: postgresSeconds(dataDirectory) };
  const result: LoadResult = await load.run({ port, requests, connections, milliseconds });
  const cost = (seconds: number) => (seconds * 1e6) / result.answers;
  return {
    rate: result.answers / result.seconds,
    serverCost: cost(processorSeconds(pid) - before.server),
    postgresCost: cost(postgresSeconds(dataDirectory) - before.postgres),
    generatorCores: result.cores,
  };
}

function tell({ name }: Side, rounds: readonly Measured[]): void {
  const of = (part: keyof Measured) => rounds.map((round) => round[part]);
  console.log(
    `  ${name}: ${spread(of('rate'), 0)} a second; an answer takes ${median(of('serverCost')).toFixed(0)} µs of its process and ` +
      `${median(of('postgresCost')).toFixed(0)} µs of PostgreSQL; the generator took ${median(of('generatorCores')).toFixed(2)} of a core`,
  );
}
