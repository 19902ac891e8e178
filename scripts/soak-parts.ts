/** The parts of the soak: the command of each for some seconds, and how it is repeated. */

/** What one round takes on a machine with two processors. */
const SECONDS_PER_KILL = 5;
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

const KILL_TESTS = ['kill-anything', 'acknowledged-writes', 'embedded-postgres'];

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
  kills: (seconds: number, seed: number): PartCommand => {
    const rounds = Math.max(1, Math.floor(seconds / SECONDS_PER_KILL));
    const environment = { TEST_SEED: `${seed}`, TEST_ROUNDS: `${rounds}` };
    return {
      args: ['scripts/test.ts', ...KILL_TESTS],
      environment,
      repeat: `TEST_SEED=${seed} TEST_ROUNDS=${rounds} npm test -- ${KILL_TESTS.join(' ')}`,
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
