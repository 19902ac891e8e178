import type { Slice } from '../../kernel/slice/slice.ts';

export { findAccountByName, insertAccount, lockAccounts } from './account.store.ts';

export const accounts: Slice = { name: 'accounts' };
