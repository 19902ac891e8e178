/** The parts of the soak: the command of each for some seconds, and how it is repeated. */

const SHORTEST_TURN_SECONDS = 5;
const LONGEST_TURN_SECONDS = 300;
/** More than any time allows: the time ends these parts. */
const UNBOUNDED = '1000000000';

interface PartCommand {
  /** Arguments of node. */
  args: string[];
  environment: Record<string, string>;
  /** What a person enters to see the failure again. */
  repeat: string;
}

/**
 * Test files that take TEST_ROUNDS, with the seconds of a round on a machine with two processors: kills, races,
 * and tests with so many choices that `npm test` tries only some of them.
 */
export const ROUND_TESTS: Readonly<Record<string, number>> = {
  'acceptance/kill-anything': 5,
  'acceptance/acknowledged-writes': 4,
  'kernel/security/permissions.test': 5,
  'kernel/security/permissions-strays': 3,
  'acceptance/event-log': 5,
  'acceptance/killed-migration': 8,
  'postgres/embedded-postgres': 2,
  'blobs/collection-race': 0.5,
  'agent-link/fencing': 0.5,
  'ai-tasks/kills': 1,
  'acceptance/killed-ai-task': 30,
  'connector-profiles/connector-properties': 0.5,
  'streaming-pipelines/streaming-properties': 0.1,
  'acceptance/directory-sync': 4,
  'endpoint/unique-names': 1,
  'http/bad-input': 5,
  'http/faults.test': 0.1,
  'repository-migrations/mirror-push': 5,
  'hosted-repositories/clone-and-push': 5,
  'acceptance/schedules': 5,
  'warehouses/duckdb-memory': 3,
  'lineage/values.test': 1.5,
  'time-fuzz/time-fuzz': 8,
  'sign-in/hostile-issuer': 0.003,
};
/** A shorter turn has one of these files, a longer one all. */
const SECONDS_PER_FILE = 12;

export const PARTS = {
  fuzz: (seconds: number, seed: number): PartCommand => ({
    args: ['test/fuzz/main.ts', UNBOUNDED, '--seed', `${seed}`, '--seconds', `${seconds}`],
    environment: {},
    repeat: `npm run fuzz -- ${UNBOUNDED} --seed ${seed} --seconds ${seconds * 2}`,
  }),
  simulation: (seconds: number, seed: number): PartCommand => ({
    args: ['test/simulation/main.ts', UNBOUNDED, '--seed', `${seed}`, '--seconds', `${seconds}`],
    environment: {},
    repeat: `npm run simulate -- ${UNBOUNDED} --seed ${seed} --seconds ${seconds * 2}`,
  }),
  rounds: (seconds: number, seed: number): PartCommand => {
    const all = Object.entries(ROUND_TESTS);
    const chosen = seconds < SECONDS_PER_FILE * all.length ? [all[seed % all.length] ?? ['', 1]] : all;
    const secondsPerRound = chosen.reduce((sum, [, each]) => sum + each, 0);
    const rounds = Math.max(1, Math.floor(seconds / secondsPerRound));
    const files = chosen.map(([file]) => file);
    return {
      args: ['scripts/test.ts', ...files],
      environment: { TEST_SEED: `${seed}`, TEST_ROUNDS: `${rounds}` },
      repeat: `TEST_SEED=${seed} TEST_ROUNDS=${rounds} npm test -- ${files.join(' ')}`,
    };
  },
  installation: (seconds: number, seed: number): PartCommand => ({
    args: ['test/soak/main.ts', '--seconds', `${seconds}`, '--seed', `${seed}`],
    environment: {},
    repeat: `npm run soak -- ${Math.ceil(seconds / 60)} --part installation --seed ${seed}`,
  }),
};
export type PartName = keyof typeof PARTS;

export function isPart(name: string): name is PartName {
  return Object.hasOwn(PARTS, name);
}

export function commandOf(part: PartName, seconds: number, seed: number): PartCommand {
  return PARTS[part](seconds, seed);
}

/**
 * The parts in turn, each with its seconds, until the time is over. Turns are so short that every part gets
 * one.
 */
export function* turns(parts: readonly PartName[], totalSeconds: number, secondsLeft: () => number) {
  const longest = Math.min(LONGEST_TURN_SECONDS, Math.floor(totalSeconds / parts.length));
  for (let turn = 0; ; turn += 1) {
    const seconds = Math.min(longest, Math.floor(secondsLeft()));
    const part = parts[turn % parts.length];
    // On a slow machine too, every part runs once.
    if (part === undefined || (seconds < SHORTEST_TURN_SECONDS && turn >= parts.length)) return;
    yield { part, seconds: Math.max(seconds, SHORTEST_TURN_SECONDS) };
  }
}
