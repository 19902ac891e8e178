/**
 * `npm run rotate-signing-key`: creates a new signing key; tokens signed by the previous key stay valid
 * until they expire. With `-- --leaked`, all earlier keys and their tokens are refused.
 */
import { rotateKeys } from '../../kernel/security/signing-keys.ts';
import { runOperatorCommand } from './operator-command.ts';

await runOperatorCommand(async (services) => {
  const [flag, ...more] = process.argv.slice(2);
  if ((flag !== undefined && flag !== '--leaked') || more.length > 0) {
    throw new Error('The only option is --leaked, for a leaked key: npm run rotate-signing-key -- --leaked');
  }
  const { keyId, signsFrom, isNew } = await rotateKeys(services, {
    why: flag === undefined ? 'asked' : 'leaked',
  });
  console.log(`signing key  ${keyId}${isNew ? '' : '   (created earlier, not active yet)'}`);
  console.log(`signs from   ${signsFrom.toISOString()}`);
  if (flag !== undefined)
    console.log('Earlier keys are revoked: within 10 s all servers refuse all existing tokens.');
});
