/** The table `account`: tenants, created by an operator's command. */
import { statement, type Transaction } from '../../kernel/database/database.ts';
import { problem } from '../../kernel/http/problems.ts';

const selectByName = statement(
  { parameters: { name: 'text' }, row: { account_id: 'uuid' } },
  'select account_id from account where name = $name',
);
const lockTable = statement({}, 'lock table account in share row exclusive mode');
const insertOne = statement(
  { parameters: { account_id: 'uuid', name: 'text', created_at: 'timestamptz' } },
  'insert into account (account_id, name, created_at) values ($account_id, $name, $created_at)',
);

export async function findAccountByName(tx: Transaction, name: string): Promise<string | undefined> {
  const [row] = await tx.query(selectByName, { name });
  return row?.account_id;
}

/** When several servers start on one empty database, only one creates the first account. */
export function lockAccounts(tx: Transaction): void {
  tx.send(lockTable, {});
}

export function insertAccount(tx: Transaction, accountId: string, name: string, now: Date): void {
  tx.onConstraint('account_name_taken', () => problem('account-name-taken', { name }));
  tx.send(insertOne, { account_id: accountId, name, created_at: now });
}
