export { accountByName, insertAccount, lockAccounts } from './account.store.ts';
