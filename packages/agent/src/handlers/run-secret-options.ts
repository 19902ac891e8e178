import type { Log } from '../log.ts';
import type { RunOptions } from '../pool/run-options.ts';
import { Masking } from '../secrets/masking.ts';
import type { SecretReferences } from '../secrets/secret-references.ts';
import type { WorkKey } from '../session/outbox.ts';
import type { WorkContext } from './handler.ts';

/** Secrets that are read for the run are also masked in its reports. */
export function createSecretOptions(
  work: WorkKey,
  context: WorkContext,
  { secretReferences, log }: { secretReferences: SecretReferences; log: Log },
): Pick<RunOptions, 'readSecret' | 'conceal'> {
  const masking = new Masking();
  return {
    async readSecret(name) {
      const secret = await secretReferences.read(work, name, context.kill);
      log.info('secret read for a run', { workId: work.workId, secretReference: name });
      masking.add(secret);
      context.conceal((text) => masking.mask(text));
      return secret;
    },
    conceal: (text) => masking.conceal(text),
  };
}
