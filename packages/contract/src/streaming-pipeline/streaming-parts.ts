/**
 * What sources and targets of streaming pipelines consist of. Each shape is declared once, for requests and for
 * responses: `Parts` has what differs between them.
 */
import { type TSchema, Type } from 'typebox';
import { named } from '../named-schema.ts';
import { mapOf, oneOf, oneOfAnyCase } from '../primitives.ts';

export const streamingSecretTypes = [
  'aws_secrets_manager',
  'azure_key_vault',
  'google_secret_manager',
  'headgate_vault',
] as const;

/** Properties of one connection, or of the pipeline. */
export const streamingPropertyLimit = 500;
const propertyTextLimit = 4_096;

export interface Parts {
  /** Names a schema. */
  named<Schema extends TSchema>(name: string, schema: Schema): Schema;
  /** The `type` of an alternative. */
  type(word: string): TSchema;
  secret: TSchema;
  properties: TSchema;
}

const SecretText = Type.String({ minLength: 1, maxLength: 1_024 });
const SecretKey = Type.String({ maxLength: 1_024 });

const secretMembers = (key: string) => ({
  secretType: oneOfAnyCase(streamingSecretTypes),
  secretName: Type.String({
    ...SecretText,
    description: 'The name of a secret reference of the project, or of a secret in the vault',
  }),
  secretKey: Type.Optional(
    Type.String({ ...SecretKey, description: 'The key within the secret in the vault' }),
  ),
  key: Type.Optional(Type.String({ ...SecretKey, description: key })),
  secretLocation: Type.Optional(
    Type.String({
      ...SecretText,
      description: 'Where the vault is, such as a region or the name of a vault',
    }),
  ),
});

/** A definition holds only references to secrets. */
const secretForm =
  'a reference to a secret, such as {"secretType": "aws_secrets_manager", "secretName": "orders-db"}; store the secret in a vault';

export const requestParts: Parts = {
  named: (name, schema) => named(`${name}Request`, schema),
  type: (word) => oneOfAnyCase([word]),
  secret: named(
    'StreamingSecretRequest',
    Type.Object(secretMembers('Another name of `secretKey`'), { 'x-form': secretForm }),
  ),
  properties: named(
    'StreamingPropertiesRequest',
    mapOf(
      Type.Union([
        Type.String({ maxLength: propertyTextLimit }),
        // Larger integers lose digits when JSON is read.
        Type.Number({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }),
        Type.Boolean(),
      ]),
      {
        maxProperties: streamingPropertyLimit,
        description:
          'By name. Numbers and booleans become strings. Secrets, such as a password, are refused: they belong into a vault',
      },
    ),
  ),
};

export const answerParts: Parts = {
  named,
  type: (word) => oneOf([word]),
  secret: named('StreamingSecret', Type.Object(secretMembers('The same as `secretKey`'))),
  properties: named(
    'StreamingProperties',
    mapOf(Type.String({ maxLength: propertyTextLimit }), {
      maxProperties: streamingPropertyLimit,
      description: 'By name',
    }),
  ),
};
