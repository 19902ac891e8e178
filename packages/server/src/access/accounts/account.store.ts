/** The table `account`: tenants, made by an operator's command (decisions.md §3). */
import { statement, type Transaction } from '../../kernel/database/database.ts';
import { problem } from '../../kernel/http/problems.ts';

const selectByName = statement<{ account_id: string }>('select account_id from account where name = $1');
const lockTable = statement('lock table account in share row exclusive mode');
const insertOne = statement('insert into account (account_id, name, created_at) values ($1, $2, $3)');

export async function accountByName(tx: Transaction, name: string): Promise<string | undefined> {
  const [row] = await tx.query(selectByName, [name]);
  return row?.account_id;
}

/** Of several servers that start on one empty database only one makes the first account. */
export function lockAccounts(tx: Transaction): void {
  tx.send(lockTable, []);
}

export function insertAccount(tx: Transaction, accountId: string, name: string, now: Date): void {
  tx.onConstraint('account_name_taken', () => problem('account-name-taken', { name }));
  tx.send(insertOne, [accountId, name, now]);
}
