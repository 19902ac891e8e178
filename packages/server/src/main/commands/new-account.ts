/** `npm run account -- NAME`: another account, with a credential whose role is Super Admin in it. */

import { credentialFileOf, makeAccount, makeCredential, writeCredentialFile } from '../provisioning.ts';
import { runOperatorCommand } from './operator-command.ts';

const longestName = 100;

await runOperatorCommand(async (services, { dataDirectory }) => {
  const name = process.argv[2]?.trim() ?? '';
  if (name === '' || name.length > longestName) {
    throw new Error(`Name the account, in 1 to ${longestName} characters: npm run account -- NAME`);
  }
  const made = await services.database.transaction((tx) =>
    makeCredential(services, tx, makeAccount(services, tx, name)),
  );
  const told = [`account        ${name}`, `client id      ${made.clientId}`];
  if (process.stdout.isTTY) {
    console.log([...told, `client secret  ${made.secret.reveal()}   (shown only now)`].join('\n'));
    return;
  }
  // What is no terminal may be a log that others read.
  const file = credentialFileOf(dataDirectory, made.clientId);
  await writeCredentialFile(file, made);
  console.log([...told, `credential     ${file}`].join('\n'));
});
