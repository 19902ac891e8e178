/**
 * What a connector profile looks like. Every object is open, because what was
 * written comes back as it was. The rules between members, and which words there are, are those of
 * `readProfile` in the package `pipelines`, which agents use too.
 */
import { type Static, type TProperties, Type } from 'typebox';
import { named } from '../named-schema.ts';
import { DateTime, Name, Uuid } from '../primitives.ts';

/** Profiles of one kind in one account, and their size together and each, as UTF-8 JSON. */
export const connectorProfileLimit = 500;
export const connectorProfilesBytes = 16 * 1_048_576;
export const connectorProfileBytes = 1_048_576;
const endpointsLimit = 500;

const openObject = <Members extends TProperties>(members: Members, options: object = {}) =>
  Type.Object(members, { additionalProperties: true, ...options });
const anyObject = (description: string) =>
  Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true, description });
const nullable = <Schema extends Parameters<typeof Type.Union>[0][number]>(schema: Schema) =>
  Type.Optional(Type.Union([schema, Type.Null()]));

const Text = Type.String({ maxLength: 8_192 });

const ConnectorParameter = named(
  'ConnectorParameter',
  openObject({
    name: Type.String({ maxLength: 255 }),
    value: nullable(Type.Union([Text, Type.Number(), Type.Boolean()])),
    required: nullable(Type.Boolean()),
  }),
);
const parameters = (description: string) =>
  nullable(
    Type.Array(Type.Union([Type.String({ maxLength: 255 }), ConnectorParameter]), {
      maxItems: 200,
      description,
    }),
  );

const ConnectorAuthenticationOption = named(
  'ConnectorAuthenticationOption',
  openObject({
    type: Type.String({
      maxLength: 50,
      description: 'NONE, BASIC, BEARER, API_KEY or OAUTH; not case-sensitive',
    }),
    parameters: nullable(
      Type.Array(Type.Union([Type.String({ maxLength: 255 }), anyObject('A parameter')]), {
        maxItems: 200,
        description:
          'API_KEY: for each key its `name`, and `addTo`, which is QUERY or HEADER. OAUTH: the names of OAuth configurations of the projects that use the profile',
      }),
    ),
    additionalParameters: nullable(
      Type.Union([Type.Array(Type.Unknown(), { maxItems: 200 }), anyObject('By name')]),
    ),
  }),
);

const ConnectorStructure = named(
  'ConnectorStructure',
  openObject(
    {
      schema: nullable(anyObject('A JSON schema of a response, or of one row')),
      containedInOuterArray: nullable(Type.Boolean()),
      repeatingElementPath: nullable(
        Type.Union([Text, Type.Array(Type.String({ maxLength: 1_024 }), { maxItems: 32 })], {
          description: 'The members that lead to the list of rows',
        }),
      ),
    },
    { description: 'How rows are found in a response' },
  ),
);

const ConnectorEndpoint = named(
  'ConnectorEndpoint',
  openObject({
    id: nullable(
      Type.String({ maxLength: 255, description: 'Unique in the profile. Without it, the name is used' }),
    ),
    name: Name,
    url: Type.String({
      minLength: 1,
      maxLength: 8_192,
      description:
        'An absolute address. `{name}` in its path or query stands for a parameter in `uriParameters`; scheme, host and port are fixed',
    }),
    httpMethod: nullable(
      Type.String({ maxLength: 20, description: 'GET, POST, PUT, PATCH or DELETE; not case-sensitive' }),
    ),
    auth: nullable(
      Type.String({
        maxLength: 50,
        description: 'NONE, BASIC, BEARER, API_KEY or OAUTH; not case-sensitive',
      }),
    ),
    authTemplate: Type.Optional(Type.Unknown()),
    authenticationOptions: nullable(Type.Array(ConnectorAuthenticationOption, { maxItems: 200 })),
    paging: nullable(
      openObject(
        {
          type: nullable(
            Type.String({
              maxLength: 50,
              description:
                'none, page, offset, cursor, link-header, next-url or token-in-body; not case-sensitive',
            }),
          ),
        },
        { description: 'How the next page is requested. The other members depend on the type' },
      ),
    ),
    headerParameters: parameters('Sent as headers'),
    queryParameters: parameters('Sent in the query'),
    uriParameters: parameters('Put into the address'),
    structure: nullable(ConnectorStructure),
    body: Type.Optional(Type.Unknown()),
  }),
);

const ConnectorLogo = openObject({
  type: nullable(Type.String({ maxLength: 100, description: 'For example URL' })),
  image: nullable(openObject({ url: nullable(Type.String({ maxLength: 8_192 })) })),
});

const written = {
  icon: nullable(Type.String({ maxLength: 65_536 })),
  logo: nullable(ConnectorLogo),
  endpoints: Type.Array(ConnectorEndpoint, { maxItems: endpointsLimit }),
};

export const AlternateId = Type.String({
  minLength: 1,
  maxLength: 64,
  pattern: '^[a-z0-9](?:[a-z0-9_.-]*[a-z0-9])?$',
  'x-form': 'a short name of lower-case letters, digits, _, . and -, such as orders-api',
  description:
    'A short name that stays the same. Without it in the request, it is made from the name of the profile',
});

export const ConnectorProfileRequest = named(
  'ConnectorProfileRequest',
  openObject({ name: Name, alternateId: nullable(AlternateId), ...written }),
);
export type ConnectorProfileBody = Static<typeof ConnectorProfileRequest>;

export const ConnectorProfile = named(
  'ConnectorProfile',
  openObject({
    id: Uuid,
    alternateId: AlternateId,
    name: Name,
    ...written,
    deleted: Type.Boolean(),
    deletedTime: Type.Union([DateTime, Type.Null()]),
    lastModified: DateTime,
  }),
);
export type ConnectorProfile = Static<typeof ConnectorProfile>;
