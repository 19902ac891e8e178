/** Signatures of the Standard Webhooks scheme: https://www.standardwebhooks.com, version 1. */
import { createHmac, randomBytes } from 'node:crypto';
import { Secret } from '../../kernel/security/sealed.ts';

const prefix = 'whsec_';
const secretBytes = 32;

/** What a webhook's secrets are sealed for. */
export const webhookSecretPurpose = 'webhook secret';

export function generateWebhookSecret(): Secret {
  return new Secret(prefix + randomBytes(secretBytes).toString('base64'));
}

/**
 * The headers that identify and sign a delivery. The id is the same at each attempt, so that the receiver can
 * recognize a duplicate.
 *
 * @param secrets the current one first, then the previous one while a rotation overlaps
 */
export function signDelivery(
  secrets: readonly Secret[],
  delivery: { id: string; at: Date; body: string },
): Record<string, string> {
  const timestamp = String(Math.floor(delivery.at.getTime() / 1_000));
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.reveal().slice(prefix.length), 'base64');
    const signed = createHmac('sha256', key).update(`${delivery.id}.${timestamp}.${delivery.body}`);
    return `v1,${signed.digest('base64')}`;
  });
  return {
    'webhook-id': delivery.id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  };
}
