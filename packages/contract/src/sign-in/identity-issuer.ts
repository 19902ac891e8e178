/** Identity issuers: OpenID Connect providers at which users of the account sign in. */
import { type Static, Type } from 'typebox';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import { DateTime, ifMatchHeader, Name, OpaqueId, oneOf, pageOf, pageQuery, Uuid } from '../primitives.ts';

const mostScopes = 20;
const mostDomains = 100;
const mostUrlCharacters = 1_024;

const Claim = Type.String({
  minLength: 1,
  maxLength: 255,
  pattern: '^[!-~]+$',
  'x-form': 'the name of a claim such as preferred_username',
});
const Domain = Type.String({
  minLength: 1,
  maxLength: 253,
  pattern: '^[a-z0-9.-]+$',
  'x-form': 'a domain in lower case such as example.com',
});
const Url = Type.String({ minLength: 1, maxLength: mostUrlCharacters });

const settings = {
  name: Type.String({ ...Name, description: 'Shown on the sign-in page. Unique in the account' }),
  issuer: Type.String({
    ...Url,
    description:
      'The issuer identifier, exactly as the provider writes it in `iss`. Its metadata is read from `/.well-known/openid-configuration` below it',
  }),
  clientId: Name,
  scopes: Type.Optional(
    Type.Array(
      Type.String({ minLength: 1, maxLength: 255, pattern: '^[!-~]+$', 'x-form': 'a scope such as email' }),
      {
        maxItems: mostScopes,
        default: ['openid', 'profile', 'email'],
        description: '`openid` is added where it is missing',
      },
    ),
  ),
  subjectClaim: Type.Optional(
    Type.String({
      ...Claim,
      default: 'sub',
      description:
        'The claim that identifies a person at the issuer for ever, such as `sub`, or `oid` of Entra. Changing it forgets which users have signed in',
    }),
  ),
  userClaim: Type.Optional(
    Type.String({
      ...Claim,
      default: 'email',
      description:
        'The claim by which a person who signs in for the first time is found among the users. `email` counts only if the issuer says that it is verified',
    }),
  ),
  userAttribute: Type.Optional(
    Type.Union([Type.Literal('userName'), Type.Literal('externalId')], {
      default: 'userName',
      description: 'What `userClaim` is compared with',
    }),
  ),
  domains: Type.Optional(
    Type.Array(Domain, {
      maxItems: mostDomains,
      default: [],
      description:
        'The e-mail domains of the account. A value of `userClaim` with an @ counts only if it ends with one of them',
    }),
  ),
  createUsers: Type.Optional(
    Type.Boolean({
      default: false,
      description:
        'Creates a user for a person who is unknown. It has no effect while the account has a credential with the role DIRECTORY: the directory creates users then',
    }),
  ),
  groupsClaim: Type.Optional(
    Type.String({
      ...Claim,
      description:
        'The claim that names the groups of a person, as a text or a list of texts: the displayName of each, in the same case. With each sign-in, the user joins these groups, and leaves those that an earlier sign-in at this issuer gave. A group that gives SUPER_ADMIN is never joined. It has no effect while the account has a credential with the role DIRECTORY. Without it, signing in changes no groups',
    }),
  ),
  enabled: Type.Optional(Type.Boolean({ default: true })),
};

export const IdentityIssuer = named(
  'IdentityIssuer',
  Type.Object({
    identityIssuerId: Uuid,
    name: Name,
    issuer: Url,
    clientId: Name,
    hasClientSecret: Type.Boolean(),
    scopes: Type.Array(Name, { maxItems: mostScopes + 1 }),
    subjectClaim: Name,
    userClaim: Name,
    userAttribute: oneOf(['userName', 'externalId']),
    domains: Type.Array(Name, { maxItems: mostDomains }),
    createUsers: Type.Boolean(),
    groupsClaim: Type.Optional(Name),
    enabled: Type.Boolean(),
    redirectUri: Type.String({ maxLength: 2_048, description: 'Register this address at the issuer' }),
    backchannelLogoutUri: Type.String({
      maxLength: 2_048,
      description: 'Register this address at the issuer, so that signing out there ends sessions here',
    }),
    createdAt: DateTime,
    updatedAt: DateTime,
  }),
);
export type IdentityIssuer = Static<typeof IdentityIssuer>;

const ClientSecret = Type.String({ minLength: 1, maxLength: 1_024 });
const issuerOperation = { surface: 'dpc', tag: 'Sign-in', permission: 'directory:settings' } as const;
const path = '/v1/identity-issuers';
const onePath = `${path}/{identityIssuerId}`;
const params = Type.Object({ identityIssuerId: OpaqueId });

export const listIdentityIssuers = operation({
  ...issuerOperation,
  id: 'listIdentityIssuers',
  method: 'GET',
  path,
  summary: 'List identity issuers, by name',
  query: Type.Object(pageQuery),
  success: { status: 200, body: pageOf(IdentityIssuer) },
  problems: [],
  events: [],
});

export const createIdentityIssuer = operation({
  ...issuerOperation,
  id: 'createIdentityIssuer',
  method: 'POST',
  path,
  summary: 'Create an identity issuer',
  description:
    'Register `redirectUri` of the response at the issuer. Then test it: this operation does not ask the issuer.',
  body: Type.Object({
    ...settings,
    clientSecret: Type.Optional(
      Type.String({ ...ClientSecret, description: 'Leave it out for a public client, which has only PKCE' }),
    ),
  }),
  bodyHoldsSecret: ['/clientSecret'],
  success: { status: 201, body: IdentityIssuer, headers: ['Location', 'ETag'] },
  problems: [
    'identity-issuer-name-taken',
    'identity-issuer-taken',
    'identity-issuer-unusable',
    'too-many-identity-issuers',
  ],
  events: ['identity-issuer-created'],
});

export const getIdentityIssuer = operation({
  ...issuerOperation,
  id: 'getIdentityIssuer',
  method: 'GET',
  path: onePath,
  summary: 'Get an identity issuer',
  params,
  success: { status: 200, body: IdentityIssuer, headers: ['ETag'] },
  problems: ['identity-issuer-not-found'],
  events: [],
});

export const updateIdentityIssuer = operation({
  ...issuerOperation,
  id: 'updateIdentityIssuer',
  method: 'PUT',
  path: onePath,
  summary: 'Replace an identity issuer',
  description:
    'Without `clientSecret` the secret stays; null removes it. Disabling an issuer ends its sessions.',
  params,
  headers: ifMatchHeader,
  body: Type.Object({ ...settings, clientSecret: Type.Optional(Type.Union([ClientSecret, Type.Null()])) }),
  bodyHoldsSecret: ['/clientSecret'],
  success: { status: 200, body: IdentityIssuer, headers: ['ETag'] },
  problems: [
    'identity-issuer-not-found',
    'identity-issuer-name-taken',
    'identity-issuer-taken',
    'identity-issuer-unusable',
    'etag-mismatch',
  ],
  events: ['identity-issuer-updated', 'session-ended'],
});

export const deleteIdentityIssuer = operation({
  ...issuerOperation,
  id: 'deleteIdentityIssuer',
  method: 'DELETE',
  path: onePath,
  summary: 'Delete an identity issuer',
  description: 'The sessions that began at it end. Users keep their roles, and sign in in another way.',
  params,
  headers: ifMatchHeader,
  success: { status: 204 },
  problems: ['identity-issuer-not-found', 'etag-mismatch'],
  events: ['identity-issuer-deleted', 'session-ended'],
});

export const testIdentityIssuer = operation({
  ...issuerOperation,
  id: 'testIdentityIssuer',
  method: 'GET',
  path: `${onePath}/test`,
  summary: 'Test an identity issuer',
  description: 'Reads the metadata of the issuer now, and says why signing in there would fail.',
  params,
  success: {
    status: 200,
    body: Type.Object({
      usable: Type.Boolean(),
      reason: Type.Optional(Type.String({ maxLength: 1_024 })),
    }),
  },
  problems: ['identity-issuer-not-found'],
  events: [],
});

export const identityIssuerOperations = [
  listIdentityIssuers,
  createIdentityIssuer,
  getIdentityIssuer,
  updateIdentityIssuer,
  deleteIdentityIssuer,
  testIdentityIssuer,
] as const;
