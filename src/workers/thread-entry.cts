/**
 * What a thread of the pool requires ("#open-worker"): loads its code as a module, asynchronously. Piscina would require
 * the module itself, and a thread that is ended while Node 20 does that takes the whole process along (FATAL ERROR
 * v8::Module::IsGraphAsync, seen when a pool was closed soon after its start).
 */
module.exports = import('./thread.js').then((thread) => thread.default);
