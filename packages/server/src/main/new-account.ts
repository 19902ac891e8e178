/** `npm run account -- NAME`: another account, with a credential whose role is Super Admin in it. */

import { runOperatorCommand } from './operator-command.ts';
import { makeAccount, makeCredential } from './provisioning.ts';

const longestName = 100;

await runOperatorCommand(async (services) => {
  const name = process.argv[2]?.trim() ?? '';
  if (name === '' || name.length > longestName) {
    throw new Error(`Name the account, in 1 to ${longestName} characters: npm run account -- NAME`);
  }
  const made = await services.database.transaction((tx) =>
    makeCredential(services, tx, makeAccount(services, tx, name)),
  );
  console.log(`account        ${name}`);
  console.log(`client id      ${made.clientId}`);
  console.log(`client secret  ${made.secret.reveal()}   (shown only now)`);
});
