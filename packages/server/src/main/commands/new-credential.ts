/** `npm run credential`: creates a credential with the role Super Admin for the first account. */

import {
  ensureFirstAccount,
  getCredentialFileFor,
  makeCredential,
  writeCredentialFile,
} from '../provisioning.ts';
import { runOperatorCommand } from './operator-command.ts';

await runOperatorCommand(async (services, { dataDirectory }) => {
  const accountId = await ensureFirstAccount(services);
  const made = await services.database.transaction((tx) => makeCredential(services, tx, accountId));
  // A separate file: the generated credential stays valid, and only credential.json holds its secret.
  const file = getCredentialFileFor(dataDirectory, made.clientId);
  await writeCredentialFile(file, made);
  console.log(`client id      ${made.clientId}`);
  if (process.stdout.isTTY) console.log(`client secret  ${made.secret.reveal()}   (also in ${file})`);
  else console.log(`credential     ${file}`);
});
