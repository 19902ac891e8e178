/**
 * Which connections may be (decisions.md E1): the allowed triples and the shape of their properties, pure.
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

/** Which providers a connection can have, for a provider that can have no authType at all. */
const providerRules: Readonly<Record<PlatformConnectionType, string>> = {
  CLOUD_PLATFORM_CREDENTIALS: `its authProvider is ${anyOf.format(clouds)}, in lower case`,
  COMPONENT_BASIC: 'its authProvider is NONE, or the name of a connector in lower case, such as salesforce',
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
      ? `it can have ${anyOf.format(authTypes)}`
      : providerRules[triple.platformConnectionType];
  throw problem('connection-triple', { ...triple, allowed });
}

/**
 * Properties must have the shape of their triple. Throws `connection-properties`; `field` is where the
 * properties are.
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

/** A comma list of names; empty members say nothing. */
export function splitNames(list: string): string[] {
  return [...new Set(list.split(',').map((name) => name.trim()))].filter((name) => name !== '');
}
