"""Who says what when: envelopes, the state machine, and one step function a role.

`states` owns the transitions; `coordinator` is the cloud's role, `participant` a hospital's. Every step is a
function of (state, message, time) to (new state, effects); what an effect does is the shell's business.
"""
