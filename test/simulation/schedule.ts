/**
 * One schedule: a minute with random faults, then a time without faults in which all work must end. Rules:
 * README.md.
 */
import { seededRandom } from '../../packages/server/testing/seeded-random.ts';
import { History } from './history.ts';
import { calm, type Way, type Weather } from './network.ts';
import { type Instance, startInstance } from './simulated-agent.ts';
import { SimulatedServer, times } from './simulated-server.ts';
import { VirtualTime } from './virtual-time.ts';

const second = 1_000;
const stormMilliseconds = 60 * second;
const sweepMilliseconds = 5 * second;
/** The time after the storm to notice dead agents, and to claim waiting work or give it up. */
const boundMilliseconds =
  (times.queueLimitSeconds + times.runLimitSeconds + 2 * times.graceSeconds + times.leaseSeconds) * second +
  2 * sweepMilliseconds;
/** For an agent to come back: a lost long poll of 55 s, the longest pause of 10 s, and the calls after it. */
const probeMilliseconds = 90 * second;

export interface Verdict {
  faults: string[];
  /** Totals that show what the schedule has covered. */
  seen: { works: number; epochs: number; crashes: number; ends: Record<string, number> };
}

class Died extends Error {}

class World {
  readonly random: () => number;
  readonly time: VirtualTime;
  readonly history = new History();
  readonly server: SimulatedServer;
  readonly way: Way;
  instances: Instance[] = [];
  weather: Weather = calm;
  /** How often the server has died; undefined while no server runs. */
  generation = 0;
  isUp = true;
  crashes = 0;
  works = 0;
  #lastInstance = 0;
  probing: Promise<void> | undefined;

  constructor(seed: number) {
    this.random = seededRandom(seed);
    this.time = new VirtualTime(this.random);
    this.server = new SimulatedServer(this.time, this.history, () => this.#trip());
    this.way = {
      time: this.time,
      random: this.random,
      weather: () => this.weather,
      server: this.server,
      generation: () => (this.isUp ? this.generation : undefined),
      ofStorm: 0,
    };
  }

  upTo(limit: number): number {
    return Math.floor(this.random() * limit);
  }

  /** A round trip to the database. Mostly no time passes. A server that dies meanwhile has not committed. */
  async #trip(): Promise<void> {
    if (this.weather === calm || this.random() < 0.8) return;
    const { generation } = this;
    await this.time.sleep(this.random() * 200);
    if (!this.isUp || generation !== this.generation) throw new Died('the server died');
  }

  startInstance(): void {
    const held = (workId: string) => (workId.startsWith('probe') ? this.probing : undefined);
    const id = `instance ${++this.#lastInstance}`;
    this.instances.push(startInstance(this.way, { history: this.history, held }, id, 1 + this.upTo(2)));
  }

  get living(): Instance[] {
    return this.instances.filter((instance) => !instance.dead && !instance.stopping);
  }

  /** A request of a user or another program, without retries. */
  ask(request: () => Promise<unknown>): void {
    if (this.isUp) void request().catch(() => undefined);
  }
}

type Happening = (world: World) => void;

const happenings: readonly Happening[] = [
  function agentDies(world) {
    const [instance] = world.living;
    if (instance === undefined) return;
    instance.dead = true;
    world.crashes += 1;
    world.time.after(world.random() * 30 * second, () => world.startInstance());
  },
  function agentIsFrozen(world) {
    for (const instance of world.living.slice(-1))
      instance.frozenUntil = world.time.now + world.random() * 80 * second;
  },
  function agentIsCutOff(world) {
    for (const instance of world.living.slice(0, 1))
      instance.cutUntil = world.time.now + world.random() * 80 * second;
  },
  function agentIsStopped(world) {
    const [instance] = world.living;
    if (instance === undefined) return;
    instance.stopping = true;
    void instance.session.stop('the simulation says so').then(() => {
      instance.dead = true;
    });
    world.time.after(world.random() * 20 * second, () => world.startInstance());
  },
  function agentIsAdded(world) {
    if (world.living.length < 3) world.startInstance();
  },
  function serverDies(world) {
    if (!world.isUp) return;
    world.isUp = false;
    world.generation += 1;
    world.crashes += 1;
    world.time.after(world.random() * 20 * second, () => {
      world.isUp = true;
    });
  },
  function workIsCancelled(world) {
    const id = `work ${1 + world.upTo(world.works)}`;
    if (world.works === 0) return;
    const command = world.random() < 0.5 ? 'cancel' : 'force-cancel';
    world.ask(() => world.server.cancel(id, command));
  },
];

function storm(world: World): void {
  const { random, time } = world;
  world.weather = {
    loss: [0, 0.05, 0.3][world.upTo(3)] ?? 0,
    duplication: [0, 0.1, 0.3][world.upTo(3)] ?? 0,
    lateness: [0, 0.05, 0.3][world.upTo(3)] ?? 0,
    latestMilliseconds: [second, 20 * second, 70 * second][world.upTo(3)] ?? 0,
  };
  for (let count = 1 + world.upTo(5); count > 0; count -= 1) {
    time.after(random() * 30 * second, () => {
      world.works += 1;
      const id = `work ${world.works}`;
      void world.server.enqueue(id).catch(() => world.history.works.delete(id));
    });
  }
  for (let count = world.upTo(6); count > 0; count -= 1) {
    const happening = happenings[world.upTo(happenings.length)];
    if (happening !== undefined) time.after(random() * stormMilliseconds, () => happening(world));
  }
}

function sweepNowAndThen(world: World): void {
  const next = () => world.time.after(world.random() * sweepMilliseconds, sweep);
  const sweep = () => {
    if (world.isUp) void world.server.sweep().catch(() => undefined);
    next();
  };
  next();
}

/** Ends the storm: living instances stay, and there is at least one. */
function calmDown(world: World): void {
  world.weather = calm;
  world.isUp = true;
  for (const instance of world.living) {
    instance.cutUntil = 0;
    instance.frozenUntil = 0;
  }
  world.startInstance();
}

/** Requires that every place of every living instance takes work again. */
async function probe(world: World, limit: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  world.probing = promise;
  const places = world.living.reduce((sum, instance) => sum + instance.concurrency, 0);
  for (let count = 0; count < places; count += 1) void world.server.enqueue(`probe ${count}`);
  const busy = () => world.living.reduce((sum, instance) => sum + instance.busy, 0);
  if (!(await world.time.until(() => busy() === places, world.time.now + limit)))
    world.history.fault(`${busy()} of ${places} places take work`);
  resolve();
}

export async function runSchedule(seed: number): Promise<Verdict> {
  const world = new World(seed);
  const { history, time, server } = world;
  for (let count = 1 + world.upTo(2); count > 0; count -= 1) world.startInstance();
  sweepNowAndThen(world);
  storm(world);
  await time.until(() => false, stormMilliseconds);
  calmDown(world);
  const rows = () => [...server.database.rows.values()];
  const isOver = () => rows().every((row) => row.state === 'ended');
  if (!(await time.until(isOver, time.now + boundMilliseconds)))
    history.fault(`not over in time: ${JSON.stringify(rows().filter(({ state }) => state !== 'ended'))}`);
  // A stopping instance may still claim work without having a place for it.
  const areGone = () => world.instances.every((instance) => !instance.stopping || instance.dead);
  if (!(await time.until(areGone, time.now + boundMilliseconds)))
    history.fault('a stopped agent does not end');
  // A duplicated or late claim of the storm may still take work without the agent's knowledge.
  if (!(await time.until(() => world.way.ofStorm === 0, time.now + boundMilliseconds)))
    history.fault('a message of the storm never arrives');
  await probe(world, probeMilliseconds);
  for (const [id, notice] of history.works) {
    if (id.startsWith('work') && notice.end === undefined) history.fault(`${id} has no end`);
  }
  const ends: Record<string, number> = {};
  for (const { end = 'none' } of history.works.values()) ends[end] = (ends[end] ?? 0) + 1;
  const epochs = [...history.works.values()].reduce((sum, notice) => sum + notice.claims.size, 0);
  for (const instance of world.instances) instance.dead = true;
  time.end();
  return { faults: history.faults, seen: { works: world.works, epochs, crashes: world.crashes, ends } };
}
