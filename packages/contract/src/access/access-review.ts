/** Who was given what, by whom and until when. */
import { type Static, Type } from 'typebox';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import { DateTime, EnvironmentName, Name, oneOf, ProjectId, pageOf, pageQuery, Uuid } from '../primitives.ts';
import { GroupOfRole, PrincipalType, RoleName } from './access.ts';

/** Of one principal, in a response about many. */
export const shownGrants = 100;
/** Of one principal, in a response about it alone. */
export const mostShownGrants = 1_000;

const Grant = named(
  'AccessGrant',
  Type.Object({
    role: RoleName,
    level: oneOf(['ACCOUNT', 'PROJECT', 'ENVIRONMENT']),
    projectId: Type.Optional(ProjectId),
    projectName: Type.Optional(Name),
    environmentName: Type.Optional(EnvironmentName),
    source: oneOf(['GROUP', 'GRANT', 'CREDENTIAL'], {
      description:
        'GROUP: a group gives it. GRANT: it was given to this principal. CREDENTIAL: the account role of a credential',
    }),
    ...GroupOfRole,
    addedBy: Type.Optional(
      Type.String({
        ...Uuid,
        description: 'The user or credential that gave it. Absent where this is not known',
      }),
    ),
    addedByName: Type.Optional(
      Type.String({ ...Name, description: 'The present name of `addedBy`. Absent if it was deleted' }),
    ),
    addedAt: Type.Optional(DateTime),
    expiresAt: Type.Optional(DateTime),
    reason: Type.Optional(Type.String({ maxLength: 500 })),
  }),
);

export const AccessReview = named(
  'AccessReview',
  Type.Object({
    principalId: Uuid,
    principalType: PrincipalType,
    name: Name,
    active: Type.Boolean({ description: 'An inactive user, or an expired credential, can do nothing' }),
    lastUsedAt: Type.Optional(
      Type.String({
        ...DateTime,
        description:
          'The last sign-in, the last use of a session that has not ended, or the last token of a credential. Absent: never',
      }),
    ),
    grants: Type.Array(Grant, {
      maxItems: mostShownGrants,
      description: `Those of the account, then by projectName. The first ${shownGrants} are shown, and with \`principalId\` the first ${mostShownGrants.toLocaleString('en')}`,
    }),
    grantsTotal: Type.Integer({ minimum: 0 }),
  }),
);
export type AccessReview = Static<typeof AccessReview>;

export const listAccessReviews = operation({
  id: 'listAccessReviews',
  method: 'GET',
  path: '/v1/access/reviews',
  surface: 'dpc',
  tag: 'Access',
  summary: 'List who was given which roles, by whom and until when',
  description:
    'Contains every credential, then every user, by name, with the roles that were given to it in places that exist. With `projectId`, only those who were given a role in the project or its environments, and only these roles. Roles that follow from others are left out: MEMBER of every user, and `defaultUserAccessLevel` of environments.',
  permission: 'users:manage',
  query: Type.Object({
    principalId: Type.Optional(Uuid),
    projectId: Type.Optional(ProjectId),
    ...pageQuery,
  }),
  success: { status: 200, body: pageOf(AccessReview) },
  problems: ['principal-not-found', 'project-not-found'],
  events: [],
});

export const accessReviewOperations = [listAccessReviews] as const;
