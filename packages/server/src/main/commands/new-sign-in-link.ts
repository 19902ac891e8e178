/** `npm run sign-in-link`: prints a link that signs in as the administrator of the first account. */
import { createOperatorLink } from '../../access/sign-in/index.ts';
import { ensureFirstAccount } from '../provisioning.ts';
import { runOperatorCommand } from './operator-command.ts';

await runOperatorCommand(async (services, config) => {
  const accountId = await ensureFirstAccount(services);
  console.log(await createOperatorLink(services, accountId, config));
  console.log('Open it within 5 minutes. It works once.');
});
