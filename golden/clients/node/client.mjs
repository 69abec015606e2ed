// A person's script with @kubernetes/client-node: the typed client, the generic
// object API, a watch, an informer, server-side apply. Prints what it did; throws
// when an answer is not what a real server gives.
import assert from 'node:assert/strict';
import * as k8s from '@kubernetes/client-node';

const config = new k8s.KubeConfig();
config.loadFromDefault();
const namespace = process.env.CLIENT_NAMESPACE;
const core = config.makeApiClient(k8s.CoreV1Api);
const apps = config.makeApiClient(k8s.AppsV1Api);
const patience = AbortSignal.timeout(60_000);

/** until waits for a promise-free condition that an event may make true. */
function until(what, register) {
  return new Promise((resolve, reject) => {
    patience.addEventListener('abort', () => reject(new Error('not so in time: ' + what)));
    register(resolve, reject);
  });
}

const version = await config.makeApiClient(k8s.VersionApi).getCode();
assert.equal(version.major, '1');

await core.createNamespacedConfigMap({ namespace, body: { metadata: { name: 'one', labels: { test: 'node' } }, data: { colour: 'blue' } } });
const list = await core.listNamespacedConfigMap({ namespace, labelSelector: 'test=node' });
assert.deepEqual(list.items.map((item) => item.metadata.name), ['one']);

// A watch from the list's revision sees exactly what happens next.
const seen = [];
await until('three events', async (resolve, reject) => {
  const watch = new k8s.Watch(config);
  const controller = await watch.watch(`/api/v1/namespaces/${namespace}/configmaps`,
    { resourceVersion: list.metadata.resourceVersion, labelSelector: 'test=node' },
    (type, object) => {
      seen.push(`${type} ${object.metadata.name} ${object.data?.colour}`);
      if (seen.length === 3) {
        controller.abort();
        resolve();
      }
    }, (error) => seen.length < 3 && reject(error ?? new Error('the watch ended')));
  const client = k8s.KubernetesObjectApi.makeApiClient(config);
  await client.patch({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'one', namespace }, data: { colour: 'red' } },
    undefined, undefined, 'node', true, k8s.PatchStrategy.ServerSideApply);
  await client.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'two', namespace, labels: { test: 'node' } }, data: { colour: 'green' } });
  await client.delete({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'two', namespace } });
});
assert.deepEqual(seen, ['MODIFIED one red', 'ADDED two green', 'DELETED two green']);

// An informer keeps a cache of pods that a deployment makes.
const informer = k8s.makeInformer(config, `/api/v1/namespaces/${namespace}/pods`, () => core.listNamespacedPod({ namespace }));
await until('two running pods', async (resolve, reject) => {
  const check = () => informer.list(namespace).filter((pod) => pod.status?.phase === 'Running').length === 2 && resolve();
  informer.on('add', check);
  informer.on('update', check);
  informer.on('error', reject);
  await informer.start();
  const labels = { app: 'node' };
  await apps.createNamespacedDeployment({ namespace, body: { metadata: { name: 'web' }, spec: {
    replicas: 2, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'busybox' }] } } } } });
});
await informer.stop();

const scale = await apps.readNamespacedDeploymentScale({ namespace, name: 'web' });
assert.equal(scale.spec.replicas, 2);
await assert.rejects(core.readNamespacedPod({ namespace, name: 'nosuch' }), (error) => error.code === 404 && JSON.parse(error.body).message === 'pods "nosuch" not found');
await assert.rejects(core.createNamespacedConfigMap({ namespace, body: { metadata: { name: 'one' } } }), (error) => error.code === 409);
console.log('client-node: ok');
