/**
 * Which user of the account a person at an issuer is. An identity is the account, the issuer and the subject: once it
 * is linked to a user, nothing else that the issuer says matters. A person who signs in for the first time is found
 * by a claim. An e-mail address counts only if the issuer has verified it and its domain is one of the account's.
 */
import { type ColumnTypes, type RowOf, statement, type Transaction } from '../../kernel/database/database.ts';
import type { AccountEvent } from '../../kernel/database/events.ts';
import { Problem } from '../../kernel/http/problems.ts';
import type { NewId } from '../../kernel/identifiers.ts';
import { isDirectoryManaged } from '../credentials/index.ts';
import { type Claims, IssuerFailed, type IssuerOfAccount } from '../identity-issuers/index.ts';
import { foldName, insertUser, presentUser, type StoredUser } from '../users/index.ts';
import { administratorName } from './administrator.ts';

const mostCharacters = 255;

export interface Person {
  userId: string;
  userName: string;
  events: AccountEvent[];
}

/** A sentence for the page and the event. */
export class PersonRefused extends Error {
  readonly userId: string | undefined;
  readonly userName: string | undefined;

  constructor(reason: string, user?: FoundUser) {
    super(reason);
    this.userId = user?.user_id;
    this.userName = user?.user_name;
  }
}

const foundUser = { user_id: 'uuid', user_name: 'text', active: 'boolean' } satisfies ColumnTypes;
type FoundUser = RowOf<typeof foundUser>;

const selectByIdentity = statement(
  { parameters: { account_id: 'uuid', identity_issuer_id: 'uuid', subject: 'text' }, row: foundUser },
  `
  select u.user_id, u.user_name, u.active from user_identity i
  join directory_user u on u.account_id = i.account_id and u.user_id = i.user_id
  where i.account_id = $account_id and i.identity_issuer_id = $identity_issuer_id and i.subject = $subject`,
);
const candidate = {
  ...foundUser,
  has_other_subject: 'boolean',
} satisfies ColumnTypes;
const selectCandidates = (condition: string) =>
  statement(
    {
      parameters: { account_id: 'uuid', identity_issuer_id: 'uuid', subject: 'text', value: 'text' },
      row: candidate,
    },
    `
    select u.user_id, u.user_name, u.active, exists (
        select from user_identity i where i.account_id = u.account_id and i.user_id = u.user_id
          and i.identity_issuer_id = $identity_issuer_id and i.subject <> $subject) as has_other_subject
    from directory_user u where u.account_id = $account_id and ${condition} limit 2 for update`,
  );
const candidatesBy = {
  userName: selectCandidates('u.user_name_key = $value'),
  externalId: selectCandidates('u.external_id = $value'),
} as const;
const insertIdentity = statement(
  {
    parameters: {
      account_id: 'uuid',
      identity_issuer_id: 'uuid',
      subject: 'text',
      user_id: 'uuid',
      created_at: 'timestamptz',
    },
  },
  `
  insert into user_identity (account_id, identity_issuer_id, subject, user_id, created_at)
  values ($account_id, $identity_issuer_id, $subject, $user_id, $created_at)`,
);

/** Undefined: nobody with this subject has signed in. */
export async function findUserBySubject(
  tx: Transaction,
  { account_id, identity_issuer_id }: IssuerOfAccount,
  subject: string,
): Promise<string | undefined> {
  if (!isStorable(subject)) return undefined;
  const [found] = await tx.query(selectByIdentity, { account_id, identity_issuer_id, subject });
  return found?.user_id;
}

/** Finds, links or creates the user. Throws PersonRefused and, at commit, IssuerFailed. */
export async function findPerson(
  tx: Transaction,
  issuer: IssuerOfAccount,
  claims: Claims,
  { now, newId }: { now: Date; newId: NewId },
): Promise<Person> {
  const { account_id, identity_issuer_id } = issuer;
  const subject = requireText(claims, issuer.subject_claim);
  const of = { account_id, identity_issuer_id };
  const [known] = await tx.query(selectByIdentity, { ...of, subject });
  if (known !== undefined) return { ...requireActive(known), events: [] };
  const value = requireUserValue(issuer, claims);
  const found = await findCandidate(tx, issuer, { subject, value });
  const events: AccountEvent[] = [];
  const user = found ?? (await createPerson(tx, issuer, { value, claims, now, newId }, events));
  const person = requireActive(user);
  for (const constraint of ['user_identity_key', 'user_identity_of_user_once'])
    tx.onConstraint(constraint, () => {
      throw new IssuerFailed('Somebody signed in as this user at the same moment. Begin again.');
    });
  tx.send(insertIdentity, { ...of, subject, user_id: user.user_id, created_at: now });
  const after = { issuerName: issuer.name, subject };
  events.push({
    name: 'identity-linked',
    subject: { type: 'user', id: user.user_id, name: user.user_name },
    after,
  });
  return { ...person, events };
}

async function findCandidate(
  tx: Transaction,
  { account_id, identity_issuer_id, user_attribute, user_claim, name }: IssuerOfAccount,
  { subject, value }: { subject: string; value: string },
): Promise<FoundUser | undefined> {
  const compared = user_attribute === 'userName' ? foldName(value) : value;
  const rows = await tx.query(candidatesBy[user_attribute], {
    account_id,
    identity_issuer_id,
    subject,
    value: compared,
  });
  if (rows.length > 1)
    throw new PersonRefused(`Several users have the ${user_attribute} ${JSON.stringify(value)}.`);
  const [found] = rows;
  // Letters of other alphabets may fold to those of somebody else.
  if (
    found !== undefined &&
    /[^ -~]/.test(value) &&
    user_attribute === 'userName' &&
    found.user_name !== value
  )
    throw new PersonRefused(`The user ${JSON.stringify(found.user_name)} is written otherwise.`, found);
  if (found?.has_other_subject)
    throw new PersonRefused(
      `The user ${JSON.stringify(found.user_name)} belongs to another person at ${name}: ${user_claim} was given to somebody else there.`,
      found,
    );
  return found;
}

async function createPerson(
  tx: Transaction,
  issuer: IssuerOfAccount,
  { value, claims, now, newId }: { value: string; claims: Claims; now: Date; newId: NewId },
  events: AccountEvent[],
): Promise<FoundUser> {
  const unknown = `No user of the account has the ${issuer.user_attribute} ${JSON.stringify(value)}.`;
  if (!issuer.creates_users) throw new PersonRefused(`${unknown} Ask an administrator to add you.`);
  if (await isDirectoryManaged(tx, issuer.account_id, now))
    throw new PersonRefused(`${unknown} The directory of the account has not sent you yet.`);
  const displayName = claims.name;
  const row: StoredUser = {
    user_id: newId(),
    user_name: value,
    display_name: typeof displayName === 'string' && isStorable(displayName) ? displayName : null,
    external_id: issuer.user_attribute === 'externalId' ? value : null,
    active: true,
    attributes: {},
    version: 1,
    created_at: now,
    updated_at: now,
  };
  await insertUser(tx, { accountId: issuer.account_id, actorId: row.user_id }, row).catch(
    (failure: unknown) => {
      if (!(failure instanceof Problem)) throw failure;
      throw new PersonRefused(failure.message);
    },
  );
  const subject = { type: 'user', id: row.user_id, name: row.user_name };
  events.push({ name: 'user-created', subject, after: presentUser(row) });
  return row;
}

function requireActive(user: FoundUser): Pick<Person, 'userId' | 'userName'> {
  if (!user.active)
    throw new PersonRefused(`The user ${JSON.stringify(user.user_name)} is deactivated.`, user);
  return { userId: user.user_id, userName: user.user_name };
}

/** Short, and without characters that nobody sees. */
export const isStorable = (text: string) =>
  text.length > 0 && text.length <= mostCharacters && text.isWellFormed() && !/\p{C}/u.test(text);

/** Throws PersonRefused. */
function requireText(claims: Claims, name: string): string {
  const value = Object.hasOwn(claims, name) ? claims[name] : undefined;
  if (typeof value === 'string' && isStorable(value)) return value;
  throw new PersonRefused(
    `The issuer sent no usable claim ${name}: a text of at most ${mostCharacters} characters.`,
  );
}

/** Throws PersonRefused. */
function requireUserValue({ user_claim: claim, domains }: IssuerOfAccount, claims: Claims): string {
  const value = requireText(claims, claim);
  if (foldName(value) === foldName(administratorName))
    throw new PersonRefused(`${JSON.stringify(value)} is the user of the operator, who signs in by a link.`);
  if (claim === 'email' && claims.email_verified !== true)
    throw new PersonRefused('The issuer does not say that your e-mail address is verified.');
  const at = value.lastIndexOf('@');
  if (at >= 0 && !domains.includes(value.slice(at + 1).toLowerCase()))
    throw new PersonRefused(`The domain of ${JSON.stringify(value)} is not one of the account's.`);
  return value;
}
