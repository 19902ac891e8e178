/** OAuth configurations of a project, with which connectors authenticate: decisions.md §5, E24. */
import { Type } from 'typebox';
import { named } from '../named-schema.ts';

export const connectorGrantTypes = ['CLIENT_CREDENTIALS', 'AUTHORIZATION_CODE'] as const;
export type ConnectorGrantType = (typeof connectorGrantTypes)[number];
export const connectorOauthStates = ['PENDING', 'AUTHORIZED'] as const;
export type ConnectorOauthState = (typeof connectorOauthStates)[number];

export const OauthName = named(
  'ConnectorOauthName',
  Type.String({
    minLength: 1,
    maxLength: 128,
    pattern: '^[\\w() .-]{1,128}$',
    'x-form': 'a name of letters, digits, spaces, _, ., -, ( and ), such as crm-production',
    description: 'The name of the configuration in the project',
  }),
);
export const ConnectorOauthText = Type.String({ maxLength: 4_096 });
