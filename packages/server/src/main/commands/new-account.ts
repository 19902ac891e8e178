/** `npm run account -- NAME`: creates an account and a credential with the role Super Admin in it. */

import { getCredentialFileFor, makeAccount, makeCredential, writeCredentialFile } from '../provisioning.ts';
import { runOperatorCommand } from './operator-command.ts';

const longestName = 100;

await runOperatorCommand(async (services, { dataDirectory }) => {
  const name = process.argv[2]?.trim() ?? '';
  if (name === '' || name.length > longestName) {
    throw new Error(`Give the account a name of 1 to ${longestName} characters: npm run account -- NAME`);
  }
  const made = await services.database.transaction((tx) =>
    makeCredential(services, tx, makeAccount(services, tx, name)),
  );
  const lines = [`account        ${name}`, `client id      ${made.clientId}`];
  if (process.stdout.isTTY) {
    console.log([...lines, `client secret  ${made.secret.reveal()}   (shown only now)`].join('\n'));
    return;
  }
  // Other output may be a log that others read.
  const file = getCredentialFileFor(dataDirectory, made.clientId);
  await writeCredentialFile(file, made);
  console.log([...lines, `credential     ${file}`].join('\n'));
});
