/**
 * Personal tokens: bearer tokens of users. A token is a row; the program holds its secret, the server only a keyed hash
 * of it. Whether the token has ended, and what it may do, is checked by rights() at every request.
 */
import type { Clock } from '../clock.ts';
import { type Database, isDiskFull, statement } from '../database/database.ts';
import { problem } from '../http/problems.ts';
import type { Scope } from './permissions.ts';
import { generateSecret, type Sealer, Secret } from './sealed.ts';

/** Scanners of secrets find a token by it. */
export const personalTokenPrefix = 'hgp_';
const purpose = 'personal token';
const tokenForm = /^hgp_[\w-]{43}$/;
/** How long the owner of a token is remembered, and how exact `last_used_at` is. */
const rememberedSeconds = 60;
const mostRemembered = 20_000;

export interface PersonalTokens {
  /** Throws `token-invalid`. */
  findOwner(token: string): Promise<Scope>;
}

const ownerRow = { account_id: 'uuid', user_id: 'uuid', personal_token_id: 'uuid' } as const;
const columns = 't.account_id, t.user_id, t.personal_token_id';
const isOpen = 't.secret_digest = $secret_digest and t.expires_at > $now';
const parameters = { secret_digest: 'bytea', now: 'timestamptz' } as const;
const useOne = statement(
  { parameters, row: ownerRow },
  `update personal_token t set last_used_at = $now where ${isOpen} returning ${columns}`,
);
const selectOne = statement(
  { parameters, row: ownerRow },
  `select ${columns} from personal_token t where ${isOpen}`,
);

export function generatePersonalToken(): Secret {
  return new Secret(personalTokenPrefix + generateSecret().reveal());
}

export function digestPersonalToken(sealer: Sealer, token: string): Buffer {
  return sealer.digest(token, purpose);
}

export function createPersonalTokens(services: {
  database: Database;
  sealer: Sealer;
  clock: Clock;
}): PersonalTokens {
  const { database, sealer, clock } = services;
  const owners = new Map<string, { owner: Scope; until: number }>();

  return {
    async findOwner(token) {
      if (!tokenForm.test(token)) throw refuse();
      const secretDigest = digestPersonalToken(sealer, token);
      const key = secretDigest.toString('base64');
      const now = clock.now();
      const known = owners.get(key);
      if (known !== undefined && known.until > now.getTime()) return known.owner;
      owners.delete(key);
      const used = { secret_digest: secretDigest, now };
      const [row] = await database.read(useOne, used).catch((failure) => {
        // With a full disk, programs can still read.
        if (isDiskFull(failure)) return database.read(selectOne, used);
        throw failure;
      });
      if (row === undefined) throw refuse();
      const { account_id: accountId, user_id: actorId, personal_token_id: userCredentialId } = row;
      const owner: Scope = { accountId, actorId, userCredentialId };
      if (owners.size >= mostRemembered) owners.delete(owners.keys().next().value ?? '');
      owners.set(key, { owner, until: now.getTime() + rememberedSeconds * 1_000 });
      return owner;
    },
  };
}

const refuse = () =>
  problem('token-invalid', { reason: 'there is no such personal token, or it has expired or was revoked.' });
