/**
 * Which connections are valid: the allowed triples and the shape of their properties.
 * Pure.
 */
import type {
  AuthType,
  ConnectionDetails,
  ConnectionProperties,
  PlatformConnectionType,
} from '@headgate/contract';
import { problem } from '../../kernel/http/problems.ts';

export interface Triple {
  platformConnectionType: PlatformConnectionType;
  authProvider: string;
  authType: AuthType;
}

const oauth: readonly AuthType[] = ['OAUTH_CLIENT_CRED', 'OAUTH_USER_TOKENS', 'OAUTH_AUTHORIZATION_CODE'];
const alsoOf: Readonly<Record<string, AuthType>> = {
  netsuite: 'COMPOSITE_TOKEN',
  'x-ads': 'OAUTH_1_0_X_ADS',
};
const clouds = ['aws', 'azure', 'gcp'];
const anyOf = new Intl.ListFormat('en-GB', { type: 'disjunction' });
const connectorName = /^[a-z0-9][a-z0-9._-]*$/;

/** The allowed providers by connection type, for an error about a provider without any authType. */
const providerRules: Readonly<Record<PlatformConnectionType, string>> = {
  CLOUD_PLATFORM_CREDENTIALS: `its authProvider must be ${anyOf.format(clouds)}, in lower case`,
  COMPONENT_BASIC:
    'its authProvider must be NONE or the name of a connector in lower case, such as salesforce',
};

function listAllowedAuthTypes({ platformConnectionType, authProvider }: Triple): readonly AuthType[] {
  if (platformConnectionType === 'CLOUD_PLATFORM_CREDENTIALS') {
    return clouds.includes(authProvider) ? ['CLOUD_PROVIDER_SECRET'] : [];
  }
  if (authProvider === 'NONE') return ['GENERIC_SECRET'];
  if (!connectorName.test(authProvider)) return [];
  const also = alsoOf[authProvider];
  return also === undefined ? oauth : [...oauth, also];
}

/** Throws `connection-triple`. */
export function requireTriple(triple: Triple): void {
  const authTypes = listAllowedAuthTypes(triple);
  if (authTypes.includes(triple.authType)) return;
  const allowed =
    authTypes.length > 0
      ? `its authType must be ${anyOf.format(authTypes)}`
      : providerRules[triple.platformConnectionType];
  throw problem('connection-triple', { ...triple, allowed });
}

/**
 * Checks the shape of the properties. Throws `connection-properties`; `field` is the path of the
 * properties.
 */
export function requireProperties(
  { platformConnectionType }: Pick<Triple, 'platformConnectionType'>,
  properties: ConnectionProperties | undefined,
  field: string,
): void {
  if (properties === undefined) return;
  const foreign: readonly (keyof ConnectionProperties)[] =
    platformConnectionType === 'COMPONENT_BASIC' ? ['credentialSecretName'] : ['secretName', 'secretKey'];
  for (const member of foreign) {
    if (properties[member] !== undefined) {
      const reason = `is not a property of a ${platformConnectionType} connection`;
      throw problem('connection-properties', { field: `${field}.${member}`, reason });
    }
  }
  if (platformConnectionType === 'COMPONENT_BASIC' && properties.secretName === undefined) {
    throw problem('connection-properties', { field: `${field}.secretName`, reason: 'is required' });
  }
}

export function requireDetails(triple: Triple, details: ConnectionDetails | undefined): void {
  requireTriple(triple);
  requireProperties(triple, details?.connectionProperties, 'body.connectionDetails.connectionProperties');
}

/** Splits a comma-separated list of names; empty names are skipped. */
export function splitNames(list: string): string[] {
  return [...new Set(list.split(',').map((name) => name.trim()))].filter((name) => name !== '');
}
