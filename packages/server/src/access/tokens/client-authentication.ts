/** Verifies client ids and secrets, for tokens and for Git. One throttle counts the failures of both. */
import { isDiskFull } from '../../kernel/database/database.ts';
import type { Services } from '../../kernel/endpoint/endpoint.ts';
import type { Secret } from '../../kernel/security/sealed.ts';
import { createThrottle } from '../../kernel/security/throttle.ts';
import { type Client, findClientById, hasSecret, recordTokenUse } from '../credentials/index.ts';
import { createRefusedAttempts } from './refused-attempts.ts';

export const unknownClientText = 'The client is unknown, its secret is wrong, or it is no longer active.';

/** 401, or 429 after too many failures. */
export class ClientRefusal extends Error {
  readonly status: 401 | 429;
  readonly headers: Record<string, string>;

  constructor(description: string, pauseSeconds?: number) {
    super(description);
    this.status = pauseSeconds === undefined ? 401 : 429;
    this.headers =
      pauseSeconds === undefined
        ? { 'www-authenticate': 'Basic realm="headgate"' }
        : { 'retry-after': String(pauseSeconds) };
  }
}

export interface ClientAuthentication {
  /**
   * Returns the client. Known and unknown clients take the same path and the same time: one trip to the
   * database, the same comparisons, and an event, if any, after the response.
   * @throws ClientRefusal
   */
  authenticate(
    attempt: { address: string; requestId: string },
    clientId: string,
    secret: Secret,
  ): Promise<Client>;
  /** Writes the events of refused attempts. */
  close(): Promise<void>;
}

type AuthenticationServices = Pick<Services, 'sealer' | 'database' | 'clock' | 'newId' | 'log'>;

export function createClientAuthentication(services: AuthenticationServices): ClientAuthentication {
  const { sealer, database, clock } = services;
  const throttle = createThrottle(clock);
  const refused = createRefusedAttempts(services);

  return {
    async authenticate({ address, requestId }, clientId, secret) {
      const attempt = { address, clientId };
      requireNoPause(throttle.getAddressPause(address));
      const client = await findClient(services, clientId);
      const matches = hasSecret(sealer, client ?? unknownClient, secret);
      // Check again: concurrent attempts from this address may have failed in between, and parallel guesses
      // must not get further than sequential ones.
      requireNoPause(throttle.getAddressPause(address));
      if (client === undefined || !matches || !client.active) {
        const pause = throttle.getPairPause(attempt);
        throttle.recordFailure({ ...attempt, guess: sealer.digest(secret.reveal(), 'refused secret') });
        requireNoPause(pause);
        if (client !== undefined) refused.record({ client, clientId, requestId, at: clock.now() });
        throw new ClientRefusal(unknownClientText);
      }
      throttle.recordSuccess(attempt);
      if (client.surface === 'dpc')
        await recordTokenUse(database.read, client, clock.now()).catch(ignoreFullDisk);
      return client;
    },
    close: () => refused.close(),
  };
}

function requireNoPause(pauseSeconds: number): void {
  if (pauseSeconds === 0) return;
  throw new ClientRefusal(`Too many failed attempts; try again in ${pauseSeconds} s.`, pauseSeconds);
}

/** With a full disk, clients still get the tokens that they need to read. */
function ignoreFullDisk(failure: unknown): void {
  if (!isDiskFull(failure)) throw failure;
}

const unknownClient = { secretDigest: Buffer.alloc(32), previousSecretDigest: null };

async function findClient(
  { database, clock }: AuthenticationServices,
  clientId: string,
): Promise<Client | undefined> {
  // PostgreSQL cannot store such text, so no client has this id.
  if (!clientId.isWellFormed() || clientId.includes('\0')) return undefined;
  return findClientById(database.read, clientId, clock.now());
}
