"""Claude Code: what it says, how it is called, and what it keeps."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ralphloop.agents import client
    from ralphloop.agents.claude import activity, program, registration, settings, usage, variables

    _activity: client.Shown = activity
    _program: client.Program = program
    _registration: client.Registrations = registration
    _settings: client.SettingsText = settings
    _usage: client.Usage = usage
    _variables: client.Variables = variables
