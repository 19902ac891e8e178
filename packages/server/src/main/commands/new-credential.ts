/** `npm run credential`: a new credential with the role Super Admin for the first account. */

import {
  credentialFileOf,
  ensureFirstAccount,
  makeCredential,
  writeCredentialFile,
} from '../provisioning.ts';
import { runOperatorCommand } from './operator-command.ts';

await runOperatorCommand(async (services, { dataDirectory }) => {
  const accountId = await ensureFirstAccount(services);
  const made = await services.database.transaction((tx) => makeCredential(services, tx, accountId));
  // A file of its own: the generated credential stays valid, and credential.json is the only place of its secret.
  const file = credentialFileOf(dataDirectory, made.clientId);
  await writeCredentialFile(file, made);
  console.log(`client id      ${made.clientId}`);
  if (process.stdout.isTTY) console.log(`client secret  ${made.secret.reveal()}   (also in ${file})`);
  else console.log(`credential     ${file}`);
});
