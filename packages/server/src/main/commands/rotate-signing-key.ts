/**
 * `npm run rotate-signing-key`: another key signs the tokens; those that are out stay good until they end.
 * With `-- --leaked`: every key so far is refused, and all tokens with them.
 */
import { rotateKeys } from '../../kernel/security/signing-keys.ts';
import { runOperatorCommand } from './operator-command.ts';

await runOperatorCommand(async (services) => {
  const [flag, ...more] = process.argv.slice(2);
  if ((flag !== undefined && flag !== '--leaked') || more.length > 0) {
    throw new Error(
      'There is one option, for a key that others have: npm run rotate-signing-key -- --leaked',
    );
  }
  const { keyId, signsFrom, isNew } = await rotateKeys(services, {
    why: flag === undefined ? 'asked' : 'leaked',
  });
  console.log(`signing key  ${keyId}${isNew ? '' : '   (made before, and still waiting)'}`);
  console.log(`signs from   ${signsFrom.toISOString()}`);
  if (flag !== undefined)
    console.log('No other key counts any more: servers refuse all tokens so far within 10 s.');
});
