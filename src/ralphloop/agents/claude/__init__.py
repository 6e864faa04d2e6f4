"""Claude Code: what it says, how it is called, and what it keeps."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ralphloop.agents import client as is_
    from ralphloop.agents.claude import activity, models, program, registration, settings, usage, variables

    _activity: is_.Shown = activity
    _models: is_.Models = models
    _program: is_.Program = program
    _registration: is_.Registrations = registration
    _settings: is_.SettingsText = settings
    _usage: is_.Usage = usage
    _variables: is_.Variables = variables
