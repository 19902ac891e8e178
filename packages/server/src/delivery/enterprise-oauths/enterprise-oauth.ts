/** Enterprise OAuth connections as the API shows them, and what each provider needs. */
import { createPrivateKey } from 'node:crypto';
import type { BodyOf, createEnterpriseOauth, EnterpriseOauth } from '@headgate/contract';
import { problem } from '../../kernel/http/problems.ts';
import { type Sealer, Secret } from '../../kernel/security/sealed.ts';
import type { EnterpriseOauthRow } from './enterprise-oauth.store.ts';

export interface OauthSecrets {
  clientSecret?: Secret;
  privateKey?: Secret;
}

const makePurpose = (accountId: string, id: string) => `enterprise oauth ${accountId} ${id}`;

export function sealSecrets(sealer: Sealer, accountId: string, id: string, secrets: OauthSecrets): Buffer {
  const { clientSecret, privateKey } = secrets;
  const stored = JSON.stringify([clientSecret?.reveal() ?? null, privateKey?.reveal() ?? null]);
  return sealer.seal(new Secret(stored), makePurpose(accountId, id));
}

export function unsealSecrets(sealer: Sealer, accountId: string, id: string, sealed: Buffer): OauthSecrets {
  const stored = sealer.unseal(sealed, makePurpose(accountId, id)).reveal();
  const [clientSecret, privateKey] = JSON.parse(stored) as [string | null, string | null];
  return {
    ...(clientSecret === null ? {} : { clientSecret: new Secret(clientSecret) }),
    ...(privateKey === null ? {} : { privateKey: new Secret(privateKey) }),
  };
}

export function presentEnterpriseOauth(row: EnterpriseOauthRow): EnterpriseOauth {
  const shown: EnterpriseOauth = {
    enterpriseOauthId: row.enterprise_oauth_id,
    name: row.name,
    provider: row.provider,
    clientId: row.client_id,
    projects: row.projects,
    createdBy: row.created_by,
    createdAt: row.created_at.toISOString(),
  };
  if (row.base_url !== null) shown.baseUrl = row.base_url;
  if (row.tenant_id !== null) shown.tenantId = row.tenant_id;
  if (row.installation_id !== null) shown.installationId = row.installation_id;
  return shown;
}

type NewEnterpriseOauth = BodyOf<typeof createEnterpriseOauth>;

/** @throws `enterprise-oauth-unusable` */
export function requireUsable(body: NewEnterpriseOauth): void {
  const refuse = (reason: string) => problem('enterprise-oauth-unusable', { reason });
  const missing = (name: string, what: string) =>
    refuse(`body.${name} is missing: a connection to ${body.provider} needs ${what}.`);
  switch (body.provider) {
    case 'gitlab':
      throw refuse(
        'GitLab has no application that gives tokens to a server. Create a service account there, and send its access token in the header Git-Provider-Access-Token when you associate the repository.',
      );
    case 'github':
      if (body.privateKey === undefined) throw missing('privateKey', 'the private key of the GitHub App');
      if (!isRsaKey(body.privateKey))
        throw refuse(
          'body.privateKey is no RSA private key in PEM. Download one from the settings of the App.',
        );
      if (body.installationId === undefined)
        throw missing('installationId', 'the id of the installation of the App in your organization');
      return;
    case 'azure-devops':
      if (body.clientSecret === undefined)
        throw missing('clientSecret', 'a client secret of the application');
      if (body.tenantId === undefined) throw missing('tenantId', 'the Entra tenant of the application');
  }
}

function isRsaKey(pem: string): boolean {
  try {
    return createPrivateKey(pem).asymmetricKeyType === 'rsa';
  } catch {
    return false;
  }
}
