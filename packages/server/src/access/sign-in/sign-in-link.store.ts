/** The table `sign_in_link`: single-use links, by the keyed hash of their secret. */
import { type ColumnTypes, type RowOf, statement, type Transaction } from '../../kernel/database/database.ts';
import { generateSecret, type Sealer, type Secret } from '../../kernel/security/sealed.ts';

const linkPurpose = 'sign-in link';
export const linkForm = /^[\w-]{43}$/;

const replaceOne = statement(
  {
    parameters: {
      account_id: 'uuid',
      user_id: 'uuid?',
      secret_digest: 'bytea',
      of_loopback: 'boolean',
      created_at: 'timestamptz',
      expires_at: 'timestamptz',
    },
  },
  `
  insert into sign_in_link (account_id, user_id, secret_digest, of_loopback, created_at, expires_at)
  values ($account_id, $user_id, $secret_digest, $of_loopback, $created_at, $expires_at)
  on conflict (account_id, user_id) do update set secret_digest = excluded.secret_digest,
    of_loopback = excluded.of_loopback, created_at = excluded.created_at, expires_at = excluded.expires_at`,
);

export interface NewLink {
  accountId: string;
  /** Null: the administrator of the installation. */
  userId: string | null;
  ofLoopback: boolean;
  createdAt: Date;
  expiresAt: Date;
}

/** Replaces the earlier link of the user. Returns the secret of the new one. */
export function replaceLink(tx: Transaction, sealer: Sealer, made: NewLink): Secret {
  const secret = generateSecret();
  tx.send(replaceOne, {
    account_id: made.accountId,
    user_id: made.userId,
    secret_digest: sealer.digest(secret.reveal(), linkPurpose),
    of_loopback: made.ofLoopback,
    created_at: made.createdAt,
    expires_at: made.expiresAt,
  });
  return secret;
}

const linkRow = {
  account_id: 'uuid',
  account_name: 'text',
  user_id: 'uuid?',
  user_name: 'text?',
  active: 'boolean?',
  of_loopback: 'boolean',
} satisfies ColumnTypes;
export type LinkRow = RowOf<typeof linkRow>;

const columns = `l.account_id, l.user_id, l.of_loopback,
    (select a.name from account a where a.account_id = l.account_id) as account_name, u.user_name, u.active`;
const ofUser = 'left join directory_user u on u.account_id = l.account_id and u.user_id = l.user_id';
const isValid = 'secret_digest = $secret_digest and expires_at > $now';
const parameters = { secret_digest: 'bytea', now: 'timestamptz' } as const;

export const selectLink = statement(
  { parameters, row: linkRow },
  `select ${columns} from sign_in_link l ${ofUser} where l.${isValid}`,
);
/** Only one request gets the row. */
export const takeLink = statement(
  { parameters, row: linkRow },
  `with l as (delete from sign_in_link where ${isValid} returning *) select ${columns} from l ${ofUser}`,
);

export const findLinkParameters = (sealer: Sealer, secret: string, now: Date) => ({
  secret_digest: sealer.digest(secret, linkPurpose),
  now,
});
