/**
 * Measures two servers in turn under the same load: A B A B …, so that other load of the machine affects
 * both.
 */
import { median, spread } from './finding.ts';
import type { LoadGenerator } from './load.ts';
import type { LoadResult } from './load-process.ts';
import { postgresSeconds, processorSeconds } from './processor-time.ts';

export interface Side {
  name: string;
  port: number;
  pid: number;
  requests: readonly string[];
  /** Switches the server to this side if both sides are the same server. */
  before?: () => Promise<void>;
}

export interface ComparisonSettings {
  rounds: number;
  /** Duration of one side in one round. */
  milliseconds: number;
  connections: number;
  /** Data directory of the PostgreSQL that both sides use. */
  dataDirectory: string;
}

const warmUpMilliseconds = 3_000;

/** The ratio of responses per second of the first side to the second, for each round. */
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
    printRounds(side, measured[index as 0 | 1]);
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
  /** Processor time per response, in microseconds. */
  serverCost: number;
  postgresCost: number;
  /** 1 is one core. */
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

function printRounds({ name }: Side, rounds: readonly Measured[]): void {
  const of = (part: keyof Measured) => rounds.map((round) => round[part]);
  const typical = (part: keyof Measured, digits = 0) => median(of(part)).toFixed(digits);
  console.log(
    `  ${name}: ${spread(of('rate'), 0)} responses per second; each takes ${typical('serverCost')} µs ` +
      `of its process and ${typical('postgresCost')} µs of PostgreSQL; ` +
      `the generator used ${typical('generatorCores', 2)} cores`,
  );
}
