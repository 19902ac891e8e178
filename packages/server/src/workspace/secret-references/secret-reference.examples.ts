/** A request that succeeds for each operation on secret references. */
import type { Examples, Place } from '../../../testing/place.ts';

const buildReference = ({ project }: Place) => ({
  secretReferenceType: 'OAUTH_CLIENT_CRED',
  secretName: `${project.projectId}/weather-api`,
  vaultType: 'AWS_SECRET_MANAGER',
  provider: 'AWS',
  description: 'The client of the weather API',
});

/** Returns its path. */
export async function createSecretReference(place: Place): Promise<string> {
  const { account, project, named } = place;
  const path = `${project.path}/secret-references/${named('weather-api')}`;
  await account.admin.post(path, buildReference(place));
  return path;
}

export const secretReferenceExamples: Examples = {
  async listSecretReferences(place) {
    await createSecretReference(place);
    const filters = 'secretReferenceType=OAUTH_CLIENT_CRED&provider=AWS';
    return { path: `${place.project.path}/secret-references?${filters}` };
  },
  createSecretReference: (place) => ({
    path: `${place.project.path}/secret-references/${place.named('weather-api')}`,
    body: { ...buildReference(place), agentId: place.agent.agentId },
  }),
  deleteSecretReference: async (place) => ({ path: await createSecretReference(place) }),
};
