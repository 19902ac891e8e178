/**
 * The network between an agent and the servers. Messages in both directions may be lost, delayed or
 * duplicated.
 */
import type { ControlPlane } from '../../packages/agent/src/session/control-plane.ts';
import type { SimulatedServer } from './simulated-server.ts';
import type { Life, VirtualTime } from './virtual-time.ts';

export interface Weather {
  /** A probability. */
  loss: number;
  duplication: number;
  /** The probability of a delay, and its maximum in milliseconds. */
  lateness: number;
  latestMilliseconds: number;
}

export const calm: Weather = { loss: 0, duplication: 0, lateness: 0, latestMilliseconds: 0 };
const callTimeoutMilliseconds = 30_000;

export interface Way {
  time: VirtualTime;
  random: () => number;
  weather(): Weather;
  server: SimulatedServer;
  /** How often the server has died; undefined while no server runs. */
  generation(): number | undefined;
  /** Messages of the storm that are in transit, wait at a server, or have a response in transit. */
  ofStorm: number;
}

/** The servers as one instance sees them. Its network works again at `cutUntil`. */
export function simulatedControlPlane(way: Way, life: Life & { cutUntil: number }): ControlPlane {
  const { time, random, server } = way;

  const isLost = () => life.cutUntil > time.now || random() < way.weather().loss;
  const delay = () => {
    const { lateness, latestMilliseconds } = way.weather();
    return random() < lateness ? random() * latestMilliseconds : 1 + random() * 50;
  };

  function call<Answer>(
    serve: (gone: () => boolean) => Promise<Answer> | Answer,
    signal: AbortSignal,
    waitSeconds = 0,
  ): Promise<Answer> {
    return new Promise((resolve, reject) => {
      let over = false;
      const settle = (act: () => void) => {
        if (!over && !life.dead) act();
        over = true;
        stop();
      };
      const fail = (reason: string) => () => settle(() => reject(new Error(reason)));
      const failed = fail('the connection was reset');
      const stop = time.listen(signal, () => settle(() => reject(signal.reason)));
      time.after(callTimeoutMilliseconds + waitSeconds * 1_000, fail('timeout'), life);
      const notices = random() < 0.5;
      const ofStorm = way.weather() === calm ? 0 : 1;
      const arrived = () => {
        way.ofStorm -= ofStorm;
      };
      const deliver = () => {
        const generation = way.generation();
        if (generation === undefined) {
          arrived();
          return time.after(1, failed, life);
        }
        const gone = () => (notices || way.weather() === calm) && (over || life.dead);
        const answered = (tell: () => void) => {
          const late = delay();
          if (way.generation() !== generation) time.after(1, failed, life);
          else if (!isLost()) time.after(late, tell, life);
          time.after(late, arrived);
        };
        Promise.resolve()
          .then(() => serve(gone))
          .then(
            (answer) => answered(() => settle(() => resolve(answer))),
            () => answered(failed),
          );
      };
      const send = (late: number) => {
        way.ofStorm += ofStorm;
        time.after(late, deliver);
      };
      if (isLost()) {
        // The connection fails at once, or there is never a response.
        if (random() < 0.5) time.after(delay(), failed, life);
      } else send(delay());
      if (random() < way.weather().duplication) send(delay() * 2);
    });
  }

  const none = () => Promise.reject(new Error('nothing is fetched in a simulation'));
  return {
    hello: (_body, signal) => call(() => server.hello(), signal),
    claim: (body, signal) => call((gone) => server.claim(body, gone), signal, body.waitSeconds),
    heartbeat: (body, signal) => call(() => server.heartbeat(body), signal),
    report: (body, signal) => call(() => server.report(body), signal),
    // The status of agents is not simulated: a goodbye changes no work.
    goodbye: (_body, signal) => call(async () => ({ agentStatus: 'stopped' as const }), signal),
    certificate: none,
    secretReference: none,
    connectorOauth: none,
    connectorOauthProblem: none,
    deletedEnvironments: none,
    artifact: none,
    blob: none,
  };
}
