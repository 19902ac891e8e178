/** Which environments are deleted, so that an agent deletes its data of them. */
import { type Static, Type } from 'typebox';
import { EnvironmentName, Uuid } from '../primitives.ts';
import { askedProjectLimit } from './protocol-constants.ts';

export const deletedEnvironmentLimit = 1_000;

const Place = { projectId: Uuid, environmentName: EnvironmentName };

export const DeletedEnvironmentsRequest = Type.Object({
  projectIds: Type.Array(Uuid, { minItems: 1, maxItems: askedProjectLimit }),
  after: Type.Optional(Type.Object(Place, { description: 'The last one of the previous response' })),
});
export type DeletedEnvironmentsRequest = Static<typeof DeletedEnvironmentsRequest>;

export const DeletedEnvironments = Type.Object({
  deleted: Type.Array(
    Type.Object({
      ...Place,
      generation: Type.Integer({ minimum: 1, description: 'This one and those before it are deleted' }),
    }),
    { maxItems: deletedEnvironmentLimit },
  ),
  isCut: Type.Boolean({ description: 'There are more: ask again with `after`' }),
});
export type DeletedEnvironments = Static<typeof DeletedEnvironments>;
