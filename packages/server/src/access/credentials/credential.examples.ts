/** A request that succeeds for each operation on credentials. */
import type { Examples, Place } from '../../../testing/place.ts';

const buildCredential = ({ named, project }: Place) => ({
  name: named('nightly deployment'),
  role: 'MEMBER',
  roles: [{ projectId: project.projectId, environmentName: 'prod', role: 'CONTRIBUTOR' }],
});

async function createCredential(place: Place): Promise<string> {
  const made = await place.account.admin.post<{ credentialId: string }>(
    '/credentials',
    buildCredential(place),
  );
  return made.body.credentialId;
}

export const credentialExamples: Examples = {
  async listCredentials(place) {
    await createCredential(place);
    return { path: '/credentials?page=0&size=1' };
  },
  createCredential: (place) => ({ path: '/credentials', body: buildCredential(place) }),
  async rotateCredential(place) {
    return { path: `/credentials/${await createCredential(place)}/rotate`, body: { overlapSeconds: 3_600 } };
  },
  async deleteCredential(place) {
    return { path: `/credentials/${await createCredential(place)}` };
  },
};
